# SPDX-License-Identifier: MIT
# needs: git make gcc objcopy
git clone -q "$SOURCE" tree
[ ! -e "$SOURCE/third_party" ] || cp -r "$SOURCE/third_party" tree/
cd tree
export TMPDIR=$PWD
$RUN make -j2 build/libexec/quern/quern-engine >make.log 2>&1
echo "status $?"
# Except for the build folder, which differs in each mode.
objcopy -g -R .note.gnu.build-id build/libexec/quern/quern-engine engine && cksum < engine
