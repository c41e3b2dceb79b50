# SPDX-License-Identifier: MIT
# needs: apt-get dpkg-deb dpkg-scanpackages
mkdir -p repo tree/lists/partial tree/cache/archives/partial tree/etc pkg/DEBIAN
printf 'Package: quern-wild\nVersion: 1.0\nArchitecture: all\nMaintainer: nobody <n@example.org>\nDescription: a package\n' > pkg/DEBIAN/control
dpkg-deb -b pkg repo/quern-wild.deb >/dev/null
(cd repo && dpkg-scanpackages . 2>/dev/null > Packages && gzip -k Packages)
echo "deb [trusted=yes] copy:$PWD/repo ./" > tree/etc/sources.list
touch tree/status
apt="-o Dir::Etc::sourcelist=$PWD/tree/etc/sources.list -o Dir::Etc::sourceparts=$PWD/none -o Dir::State::lists=$PWD/tree/lists -o Dir::Cache=$PWD/tree/cache -o Dir::State::status=$PWD/tree/status -o APT::Sandbox::User=root"
$RUN apt-get $apt update >/dev/null
echo "status $?"
$RUN apt-cache $apt show quern-wild | grep -E '^(Package|Version)'
$RUN apt-get $apt -s install quern-wild | grep ^Inst
