# SPDX-License-Identifier: MIT
#
# The profile commands: what mk/cli.mk links into quern for them.

CLI_LIBS += -lpcre2-8 -lz -lzstd -lm
