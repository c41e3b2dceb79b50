# SPDX-License-Identifier: MIT
# Four objects from one source, linked; a failing recipe that is ignored; a second make.
MAKEFLAGS += -j2
objects := a.o b.o c.o d.o
all: sieve
	./sieve 5000; test $$? = 2
	-false
	@$(MAKE) -s -f sieve.mk last
sieve: $(objects)
	gcc -o $@ a.o -lm
.NOTPARALLEL:
$(objects): %.o: small.c sieve.c
	gcc -O1 -c -o $@ sieve.c
last:
	@echo $(shell wc -l < sieve.c) $(words $(objects)); exit 3
