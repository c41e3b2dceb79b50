# SPDX-License-Identifier: MIT
#
# tests/peers: profiles of six programs read by quern and by the distribution's tools. PEERS=all:
# all combinations of Callgrind's options, which takes an hour.

PEERS ?=

CHECKS += check-peers
.PHONY: check-peers
check-peers: $(addprefix $(BUILD)/bin/,quern cg_annotate cg_merge cg_diff callgrind_annotate)
	@tests/peers/run $(BUILD) $(PEERS)
