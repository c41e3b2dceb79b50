# SPDX-License-Identifier: MIT
# needs: git
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@x
export GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z' HOME=$PWD
git init -q -b main src
for i in $(seq 40); do seq $i $((i * 50)) > src/f$i; git -C src add . ; git -C src commit -qm "c$i"; done
touch src/.git/git-daemon-export-ok
$RUN git daemon --listen=127.0.0.1 --port="${PORT:-18081}" --base-path="$PWD" --export-all --reuseaddr &
server=$!
for i in $(seq 300); do git ls-remote -q "git://127.0.0.1:${PORT:-18081}/src" >/dev/null 2>&1 && break; sleep 0.1; done
$RUN git clone -q "git://127.0.0.1:${PORT:-18081}/src" copy
kill $server
wait $server 2>/dev/null
$RUN git -C copy log --format='%h %s' | cksum
$RUN git -C copy fsck --full 2>/dev/null
$RUN git -C copy gc -q
$RUN git -C copy diff --stat HEAD~3 | tail -1
git -C copy rev-parse HEAD
