# SPDX-License-Identifier: MIT
# Handlers, masks, alarms, sigwait, a handler that raises, a wakeup descriptor.
import os, signal, time
def handler(s, f): print('got', signal.Signals(s).name)
for s in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGRTMIN + 1): signal.signal(s, lambda n, f: print('got', n))
os.kill(os.getpid(), signal.SIGUSR1)
signal.raise_signal(signal.SIGUSR2)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGRTMIN + 1})
for _ in range(3): os.kill(os.getpid(), signal.SIGUSR1)
print('pending', sorted(map(int, signal.sigpending())))
print('waited', int(signal.sigwait({signal.SIGUSR1})))
os.kill(os.getpid(), signal.SIGRTMIN + 1)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGRTMIN + 1})
class Late(Exception): pass
def late(s, f): raise Late
signal.signal(signal.SIGALRM, late)
signal.setitimer(signal.ITIMER_REAL, 0.1)
try: signal.pause()
except Late: print('late')
signal.signal(signal.SIGALRM, handler); signal.setitimer(signal.ITIMER_REAL, 0.1); signal.sigwaitinfo({signal.SIGHUP}) if 0 else time.sleep(0.3)
signal.setitimer(signal.ITIMER_REAL, 0)
r, w = os.pipe(); os.set_blocking(w, False); signal.set_wakeup_fd(w)
signal.raise_signal(signal.SIGUSR1) if 0 else signal.raise_signal(signal.SIGUSR2); print('byte', os.read(r, 1)[0])
signal.signal(signal.SIGTERM, signal.SIG_DFL); signal.signal(signal.SIGINT, signal.default_int_handler)
try: signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt: print('interrupted', flush=True)
os.kill(os.getpid(), signal.SIGTERM)
