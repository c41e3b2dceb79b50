# SPDX-License-Identifier: MIT
# A repository from its beginning: commits, branches, a merge, a conflict, packs.
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_AUTHOR_DATE='1600000000 +0000'
export GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@example.org GIT_COMMITTER_DATE='1600000000 +0000' GIT_PAGER=cat
git init -q -b main r && cd r || exit
cp ../in.txt a; cp ../left.txt b; git add . ; git commit -q -m one
git checkout -q -b side; sed -i '5s/^/side /' a; git commit -q -a -m two
git checkout -q main; sed -i '500s/^/main /' a; git commit -q -a -m three
git merge -q -m merge side; echo "merge: $?"
git log --format='%h %s %an' --stat; git diff HEAD~1 --stat; git blame -s a | sed -n '4,6p'
git checkout -q -b other HEAD~1; echo other > b; git commit -q -a -m four; git checkout -q main; echo mine > b; git commit -q -a -m five
git merge other; echo "conflict: $?"; git status --short; git merge --abort
git gc -q; echo "gc: $?"; git count-objects -v | grep -v size; git fsck; git rev-parse HEAD; git clone -q . ../copy; git -C ../copy log --oneline | wc -l
