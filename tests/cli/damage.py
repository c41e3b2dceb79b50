#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recovers damaged copies of a spool: damage.py [--alone] SPOOL COMMAND...

Standard input has a line for each copy: `NAME[ SIZE=N][ OFFSET=HEX]...`, the size to which it is cut
and the bytes that replace others. For each, COMMAND is executed with the name `copy` behind it. It
must end with 0, or with 2 and a sentence. --alone: nothing is new in this folder and in the one
above, except profiles by their usual names, which are removed with the copy. Here and not in the
shell, since sixteen processes for each copy took twice as long as the command.
"""
import os
import re
import shutil
import subprocess
import sys

PROFILES = re.compile(r'(out|ca(ll|che)grind[.]out[.]-?[0-9]+)(-[0-9]+)?([.]counts|[.]code)?')


def extents(path):
    """The bytes of a file that are not holes, by their offsets."""
    found, at = [], 0
    with open(path, 'rb') as file:
        while True:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:  # ENXIO: a hole to the end
                return found
            end = os.lseek(file.fileno(), at, os.SEEK_HOLE)
            found.append((at, os.pread(file.fileno(), end - at, at)))
            at = end


def fault(name, command, alone, before, above):
    """What is wrong with a recovery of `copy`; None when nothing is."""
    done = subprocess.run(command + ['copy'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode not in (0, 2):
        return f'{name}: status {done.returncode}\n{done.stderr.decode(errors="replace")}'
    if done.returncode and not done.stderr.strip():
        return f'{name}: no sentence'
    if not alone:
        return None
    if set(os.listdir('..')) != above:
        return f'{name}: {sorted(os.listdir(".."))}'
    left = set(os.listdir('.')) - before - {'copy'}
    strange = sorted(one for one in left if not PROFILES.fullmatch(one))
    for one in left | {'copy'}:
        if os.path.isdir(one):
            shutil.rmtree(one)
        elif os.path.lexists(one):
            os.remove(one)
    return f'{name}: {strange}' if strange else None


def main(words):
    alone = words[0] == '--alone'
    spool, command = words[alone], words[alone + 1:]
    size, data = os.path.getsize(spool), extents(spool)
    before, above = set(os.listdir('.')), set(os.listdir('..'))
    copies = 0
    for line in sys.stdin:
        name, *damage = line.split()
        with open('copy', 'wb') as copy:
            for at, some in data:
                os.pwrite(copy.fileno(), some, at)
            os.truncate(copy.fileno(), size)
            for one in damage:
                at, what = one.split('=')
                if at == 'SIZE':
                    os.truncate(copy.fileno(), int(what))
                else:
                    os.pwrite(copy.fileno(), bytes.fromhex(what), int(at))
        wrong = fault(name, command, alone, before, above)
        if wrong:
            print('# ' + wrong.rstrip().replace('\n', '\n# '))
            return 1
        copies += 1
    return copies == 0


sys.exit(main(sys.argv[1:]))
