# SPDX-License-Identifier: MIT
# needs: git make gcc
git clone -q "$SOURCE" tree
[ ! -e "$SOURCE/third_party" ] || cp -r "$SOURCE/third_party" tree/
cd tree
export TMPDIR=$PWD
$RUN make -j2 build/libexec/quern/quern-engine >make.log 2>&1
echo "status $?"
cksum < build/libexec/quern/quern-engine
