// SPDX-License-Identifier: MIT
//
// Calls that a signal interrupts without an error code (engine/syscalls/interrupted.h): each is
// interrupted while it waits in the kernel with a part done, by the signals that the engine sends,
// which another thread sends here, and must complete the whole request. Natively these signals are
// ignored. A signal that the program handles ends such a call, as natively, with a partial result.
//
// Waiting calls are interrupted while they sleep, and the signal has arrived when it is no longer
// pending: nothing depends on time. Calls that never sleep are repeated until twenty signals have
// arrived during them.
//
// varies: threads, and loops that wait for them

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

#include "check.h"
#include "engine-signal.h"

#define MANY    200000
#define IN_CALL 20

static unsigned char sent[MANY], got[MANY];
static pid_t victim;
static atomic_bool returned;
static atomic_int handled;

// -- the sender --

static void kick(unsigned long value)
{
    CHECK(engine_signal_send(getpid(), victim, value) == 0);
}

static void read_task(const char *what, char *text, size_t size)
{
    char name[64];
    int fd;
    ssize_t n;

    snprintf(name, sizeof(name), "/proc/self/task/%d/%s", victim, what);
    fd = open(name, O_RDONLY);
    n = fd < 0 ? 0 : read(fd, text, size - 1);
    text[n < 0 ? 0 : n] = 0;
    close(fd);
}

// False: the call is over.
static bool sleeps(long nr)
{
    char text[4096];

    while (!returned) {
        read_task("syscall", text, sizeof(text));
        if (text[0] >= '0' && text[0] <= '9' && atol(text) == nr)
            return true;
        usleep(1000);
    }
    return false;
}

static bool is_pending(int signo)
{
    char text[4096];

    read_task("status", text, sizeof(text));
    return engine_signal_pending(text, signo);
}

static void met_by(int signo)
{
    while (!returned && is_pending(signo))
        usleep(1000);
}

struct sender {
    long nr;
    void (*finish)(void);
};

static void *send_all(void *arg)
{
    const struct sender *s = arg;
    static const unsigned long values[] = { KICK, ASK, KICK };

    for (int i = 0; i < 3 && sleeps(s->nr); i++) {
        kick(values[i]);
        met_by(ENGINE_SIGNAL);
    }
    if (sleeps(s->nr))
        s->finish();
    return NULL;
}

// The call, interrupted by signals of the engine three times; then `finish` completes what it waits
// for.
static long cut(void (*finish)(void), long nr, long a, long b, long c, long d, long e, long f)
{
    struct sender s = { nr, finish };
    pthread_t thread;
    long ret;
    int saved;

    returned = false;
    CHECK(pthread_create(&thread, NULL, send_all, &s) == 0);
    ret = syscall(nr, a, b, c, d, e, f);
    saved = errno;
    returned = true;
    CHECK(pthread_join(thread, NULL) == 0);
    errno = saved;
    return ret;
}

// -- completions --

static int from, to; // the descriptors that the completion uses
static size_t drained;

// Reads everything until the call has returned.
static void drain(void)
{
    for (;;) {
        struct pollfd p = { from, POLLIN, 0 };
        bool last = returned;
        ssize_t n;

        if (poll(&p, 1, last ? 0 : 10) == 1 && (p.revents & POLLIN)) {
            n = read(from, got + drained, sizeof(got) - drained);
            if (n <= 0)
                return;
            drained += (size_t)n;
        } else if (last) {
            return;
        }
    }
}

static void drained_all(size_t n)
{
    returned = true;
    drain();
    CHECK(drained == n);
    CHECK(memcmp(got, sent, n) == 0);
    drained = 0;
    memset(got, 0, sizeof(got));
}

static void write_rest(void)
{
    CHECK(write(to, sent + 10, 90) == 90);
}

// -- the calls --

static void ends(int fd[2], int type)
{
    CHECK(type ? socketpair(AF_UNIX, type, 0, fd) == 0 : pipe(fd) == 0);
    from = fd[0];
    to = fd[1];
}

static void close_ends(const int fd[2])
{
    close(fd[0]);
    close(fd[1]);
}

static void check_write(int type)
{
    struct iovec iov[] = { { sent, 1 },
                           { sent + 1, 0 },
                           { sent + 1, 70000 },
                           { sent + 70001, 99999 },
                           { sent + 170000, 30000 } };
    int fd[2];

    ends(fd, type);
    CHECK(cut(drain, SYS_write, to, (long)sent, MANY, 0, 0, 0) == MANY);
    drained_all(MANY);
    CHECK(cut(drain, SYS_writev, to, (long)iov, 5, 0, 0, 0) == MANY);
    drained_all(MANY);
    CHECK(cut(drain, SYS_pwritev2, to, (long)iov, 5, -1, -1, 0) == MANY);
    drained_all(MANY);
    close_ends(fd);
}

static void check_send(void)
{
    struct iovec iov[] = { { sent, 150000 }, { sent + 150000, 50000 } };
    struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
    struct mmsghdr all[3];
    int fd[2];

    ends(fd, SOCK_STREAM);
    CHECK(cut(drain, SYS_sendto, to, (long)sent, MANY, 0, 0, 0) == MANY);
    drained_all(MANY);
    CHECK(cut(drain, SYS_sendmsg, to, (long)&msg, 0, 0, 0, 0) == MANY);
    drained_all(MANY);
    // The last message is half sent.
    memset(all, 0, sizeof(all));
    for (int i = 0; i < 3; i++)
        all[i].msg_hdr.msg_iovlen = 1;
    all[0].msg_hdr.msg_iov = &(struct iovec){ sent, 5 };
    all[1].msg_hdr.msg_iov = &(struct iovec){ sent + 5, MANY - 12 };
    all[2].msg_hdr.msg_iov = &(struct iovec){ sent + MANY - 7, 7 };
    CHECK(cut(drain, SYS_sendmmsg, to, (long)all, 3, 0, 0, 0) == 3);
    CHECK(all[0].msg_len == 5 && all[1].msg_len == MANY - 12 && all[2].msg_len == 7);
    drained_all(MANY);
    close_ends(fd);
}

static void check_datagrams(void)
{
    struct iovec iov[40];
    struct mmsghdr all[40];
    int fd[2], size = 4096;

    ends(fd, SOCK_DGRAM);
    CHECK(setsockopt(to, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) == 0);
    memset(all, 0, sizeof(all));
    for (int i = 0; i < 40; i++) {
        iov[i] = (struct iovec){ sent + i * 1000, 1000 };
        all[i].msg_hdr = (struct msghdr){ .msg_iov = iov + i, .msg_iovlen = 1 };
    }
    CHECK(cut(drain, SYS_sendmmsg, to, (long)all, 40, 0, 0, 0) == 40);
    drained_all(40000);
    for (int i = 0; i < 3; i++) {
        iov[i] = (struct iovec){ got + i * 100, 100 };
        all[i].msg_len = 0;
    }
    // One is there, one comes; after that the socket reports no error.
    CHECK(write(to, sent, 10) == 10);
    CHECK(cut(write_rest, SYS_recvmmsg, from, (long)all, 2, 0, 0, 0) == 2);
    CHECK(all[0].msg_len == 10 && all[1].msg_len == 90);
    CHECK(memcmp(got, sent, 10) == 0 && memcmp(got + 100, sent + 10, 90) == 0);
    CHECK(write(to, sent, 10) == 10);
    CHECK(recv(from, got, 100, 0) == 10);
    memset(got, 0, sizeof(got));
    close_ends(fd);
}

static void check_receive(void)
{
    struct iovec iov[] = { { got, 3 }, { got + 3, 57 }, { got + 60, 40 } };
    struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 3 };
    int fd[2], low = 50;

    ends(fd, SOCK_STREAM);
    CHECK(write(to, sent, 10) == 10);
    CHECK(cut(write_rest, SYS_recvfrom, from, (long)got, 100, MSG_WAITALL, 0, 0) == 100);
    drained = 100;
    drained_all(100);
    CHECK(write(to, sent, 10) == 10);
    CHECK(cut(write_rest, SYS_recvmsg, from, (long)&msg, MSG_WAITALL, 0, 0, 0) == 100);
    drained = 100;
    drained_all(100);
    // At least this much: what is there.
    CHECK(setsockopt(from, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low)) == 0);
    CHECK(write(to, sent, 10) == 10);
    CHECK(cut(write_rest, SYS_read, from, (long)got, 150, 0, 0, 0) == 100);
    drained = 100;
    drained_all(100);
    CHECK(write(to, sent, 10) == 10);
    CHECK(cut(write_rest, SYS_readv, from, (long)iov, 3, 0, 0, 0) == 100);
    drained = 100;
    drained_all(100);
    close_ends(fd);
}

// Peeked data stays, so such a call starts again. (A local socket does not wait for more.)
static void check_peek(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd[2];

    if (bind(listener, (struct sockaddr *)&at, size)) // there is no network
        return;
    CHECK(listen(listener, 1) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&at, &size) == 0);
    to = fd[1] = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(to, (struct sockaddr *)&at, size) == 0);
    from = fd[0] = accept(listener, NULL, NULL);
    CHECK(write(to, sent, 10) == 10);
    CHECK(cut(write_rest, SYS_recvfrom, from, (long)got, 100, MSG_WAITALL | MSG_PEEK, 0, 0) == 100);
    CHECK(memcmp(got, sent, 100) == 0);
    CHECK(recv(from, got, 200, 0) == 100);
    drained = 100;
    drained_all(100);
    CHECK(write(to, sent, 10) == 10);
    CHECK(cut(write_rest, SYS_recvfrom, from, (long)got, 100, MSG_WAITALL, 0, 0) == 100);
    drained = 100;
    drained_all(100);
    close_ends(fd);
    close(listener);
}

static void check_copy(void)
{
    int file = memfd_create("file", 0), in[2], fd[2], size = 4096;
    off_t off = 0;

    CHECK(write(file, sent, MANY) == MANY);
    ends(fd, SOCK_STREAM);
    CHECK(setsockopt(to, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) == 0);
    CHECK(cut(drain, SYS_sendfile, to, file, (long)&off, MANY, 0, 0) == MANY);
    CHECK(off == MANY);
    drained_all(MANY);
    CHECK(pipe(in) == 0);
    CHECK(write(in[1], sent, 60000) == 60000);
    CHECK(cut(drain, SYS_splice, in[0], 0, to, 0, 60000, 0) == 60000);
    drained_all(60000);
    close_ends(in);
    close_ends(fd);
    close(file);
}

static void check_terminal(void)
{
    struct termios mode;
    int master, slave;

    CHECK(openpty(&master, &slave, NULL, NULL, NULL) == 0);
    CHECK(tcgetattr(slave, &mode) == 0);
    cfmakeraw(&mode);
    mode.c_cc[VMIN] = 50;
    mode.c_cc[VTIME] = 0;
    CHECK(tcsetattr(slave, TCSANOW, &mode) == 0);
    from = master;
    to = slave;
    CHECK(cut(drain, SYS_write, slave, (long)sent, MANY, 0, 0, 0) == MANY);
    drained_all(MANY);
    to = master;
    CHECK(write(master, sent, 10) == 10);
    CHECK(cut(write_rest, SYS_read, slave, (long)got, 100, 0, 0, 0) == 100);
    CHECK(memcmp(got, sent, 100) == 0);
    memset(got, 0, sizeof(got));
    close(master);
    close(slave);
}

static void check_events(void)
{
    aio_context_t context = 0;
    struct io_event event[3];
    struct iocb poll_one = { .aio_lio_opcode = IOCB_CMD_POLL, .aio_buf = POLLIN, .aio_data = 1 };
    struct iocb poll_two = { .aio_lio_opcode = IOCB_CMD_POLL, .aio_buf = POLLIN, .aio_data = 2 };
    struct iocb *both[] = { &poll_one, &poll_two };
    struct timespec long_time = { 1000, 0 };
    int one[2], two[2];

    if (syscall(SYS_io_setup, 8, &context)) // many kernels have none
        return;
    CHECK(pipe(one) == 0);
    CHECK(write(one[1], "x", 1) == 1);
    ends(two, 0);
    poll_one.aio_fildes = (unsigned)one[0];
    poll_two.aio_fildes = (unsigned)two[0];
    CHECK(syscall(SYS_io_submit, context, 2, both) == 2);
    CHECK(cut(write_rest, SYS_io_getevents, (long)context, 2, 3, (long)event, (long)&long_time,
              0) == 2);
    CHECK(event[0].data == 1 && event[1].data == 2);
    CHECK(syscall(SYS_io_destroy, context) == 0);
    close_ends(one);
    close_ends(two);
}

// -- calls that never sleep --

static atomic_bool in_call, over;
static atomic_int met;

static void *send_always(void *arg)
{
    (void)arg;
    while (!over) {
        if (!in_call)
            continue;
        kick(met & 1 ? KICK : ASK);
        met_by(ENGINE_SIGNAL);
        if (in_call)
            met++;
    }
    return NULL;
}

static void check_busy(long nr, long a, long b, long c, long d, size_t size)
{
    struct iovec *iov = (struct iovec *)b;
    unsigned char *buffer = nr == SYS_getrandom ? (unsigned char *)a
                            : nr == SYS_read    ? (unsigned char *)b
                                                : iov->iov_base;
    bool zeros = nr != SYS_getrandom, all = true;
    pthread_t thread;

    met = 0;
    returned = over = false;
    CHECK(pthread_create(&thread, NULL, send_always, NULL) == 0);
    for (int i = 0; i < 1000 && met < IN_CALL && all; i++) {
        for (size_t j = 0; j < size; j += 4096)
            buffer[j] = 0xaa;
        in_call = true;
        all = syscall(nr, a, b, c, d, 0, 0) == (long)size;
        in_call = false;
        for (size_t j = 0; zeros && j < size; j += 4096)
            all &= buffer[j] == 0;
    }
    CHECK(all);
    over = true;
    CHECK(pthread_join(thread, NULL) == 0);
}

static void check_devices(void)
{
    size_t size = 2 << 20;
    char *buffer = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct iovec iov[] = { { buffer, 100001 }, { buffer + 100001, size - 100001 } };
    int zero = open("/dev/zero", O_RDONLY);

    CHECK(zero >= 0 && buffer != MAP_FAILED);
    check_busy(SYS_read, zero, (long)buffer, (long)size, 0, size);
    check_busy(SYS_readv, zero, (long)iov, 2, 0, size);
    check_busy(SYS_getrandom, (long)buffer, (long)size, 0, 0, size);
    close(zero);
    munmap(buffer, size);
}

// -- signals that the program handles --

static void handler(int signo)
{
    (void)signo;
    handled++;
}

static void signal_it(void)
{
    CHECK(syscall(SYS_tgkill, getpid(), victim, SIGUSR1) == 0);
    met_by(SIGUSR1);
}

static void drain_some(void)
{
    CHECK(read(from, got, 20000) == 20000);
    usleep(1000);
    if (sleeps(SYS_write))
        signal_it();
}

static void check_own(void)
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
    int fd[2];
    long all;

    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    ends(fd, 0);
    all = fcntl(to, F_GETPIPE_SZ);
    CHECK(cut(signal_it, SYS_write, to, (long)sent, MANY, 0, 0, 0) == all);
    CHECK(handled == 1);
    drained_all((size_t)all);
    // It has done nothing when the engine's signals arrive, then a part, then the program's.
    CHECK(write(to, sent, (size_t)all) == all);
    CHECK(cut(drain_some, SYS_write, to, (long)sent, MANY, 0, 0, 0) == 20000 / 4096 * 4096);
    CHECK(handled == 2);
    CHECK(write(to, sent, 0) == 0);
    close_ends(fd);
    // Of a local socket the available data; of a terminal the same.
    ends(fd, SOCK_STREAM);
    CHECK(write(to, sent, 10) == 10);
    CHECK(cut(signal_it, SYS_recvfrom, from, (long)got, 100, MSG_WAITALL, 0, 0) == 10);
    CHECK(handled == 3);
    close_ends(fd);
}

static void *nothing(void *arg)
{
    return arg;
}

int main(void)
{
    pthread_t thread;

    victim = gettid();
    // The first thread makes the libc reserve the signal.
    CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(engine_signal_ignore() == 0);
    for (int i = 0; i < MANY; i++)
        sent[i] = (unsigned char)(i * 7 + i / 251);
    check_write(0);
    check_write(SOCK_STREAM);
    check_send();
    check_datagrams();
    check_receive();
    check_peek();
    check_copy();
    check_terminal();
    check_events();
    check_devices();
    check_own();
    return check_failed;
}
