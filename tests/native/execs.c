// SPDX-License-Identifier: MIT
// Every way in which execve, execveat and their relatives succeed or fail: each case in a child,
// which prints the error, or the view that the executed image ("show") has of itself. The text is
// the same natively and under the engine, with and without --trace-children; tests/native/run-exec
// compares.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef AT_EMPTY_PATH
#    define AT_EMPTY_PATH 0x1000
#endif

extern char **environ;
static char self[4096];
static void *unmapped; // an address that faults

// ---- What an executed image says of itself ----

static void show_status(const char *key)
{
    char line[512];
    FILE *f = fopen("/proc/self/status", "r");

    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, key, strlen(key)) == 0)
            fputs(line, stdout);
    fclose(f);
}

static int show(int argc, char **argv)
{
    char exe[4096] = "";

    for (int i = 0; i < argc; i++)
        printf("  argv[%d] \"%s\"\n", i, argv[i]);
    for (char **e = environ; *e; e++)
        printf("  env \"%s\"\n", *e);
    printf("  AT_EXECFN \"%s\"\n", (const char *)getauxval(AT_EXECFN));
    if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
        strcpy(exe, strerror(errno));
    printf("  exe %s\n", exe);
    for (int fd = 0; fd < 50; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("  fd %d\n", fd);
    show_status("Name:");
    // Not from /proc, which shows the engine's view of it: it never blocks signals of faults.
    sigset_t set;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &set, 8);
    printf("  mask %016lx\n", *(unsigned long *)&set);
    show_status("SigIgn:");
    show_status("ShdPnd:");
    fflush(stdout);
    return 17;
}

// ---- Cases ----

static const char *current;

static void failed(void)
{
    printf("  failed: %s\n", strerrorname_np(errno));
    fflush(stdout);
    _exit(1);
}

typedef void action(void);

static void run(const char *name, action *a)
{
    int status;
    pid_t pid;

    current = name;
    printf("%s:\n", name);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        a();
        failed();
    }
    if (waitpid(pid, &status, 0) != pid)
        perror("waitpid");
    printf("  status %#x\n", status);
    fflush(stdout);
}

static char zero[] = "zero";
static char *args[] = { zero, (char[]){ "show" }, (char[]){ "two words" }, (char[]){ "" }, NULL };
static char *env[] = { (char[]){ "A=1" }, (char[]){ "B=" }, NULL };
static char *no_args[] = { NULL };

static void plain(void)
{
    execve("./execs", args, env);
}
static void absolute(void)
{
    execve(self, args, env);
}
static void missing(void)
{
    execve("./not-there", args, env);
}
static void empty(void)
{
    execve("", args, env);
}
static void folder(void)
{
    execve("/tmp", args, env);
}
static void no_x(void)
{
    execve("./plain-file", args, env);
}
static void not_folder(void)
{
    execve("./plain-file/x", args, env);
}
static void link_loop(void)
{
    execve("./loop", args, env);
}
static void by_link(void)
{
    execve("./link", args, env);
}
static void text(void)
{
    execve("./text", args, env);
}
static void nothing(void)
{
    execve("./empty", args, env);
}
static void no_interp(void)
{
    execve("./no-interp", args, env);
}
static void script(void)
{
    execve("./script", args, env);
}
static void script_gone(void)
{
    execve("./script-gone", args, env);
}
static void script_no_x(void)
{
    execve("./script-no-x", args, env);
}
static void script_loop(void)
{
    execve("./script-loop", args, env);
}
static void script_nested(void)
{
    execve("./script-nested", args, env);
}
static void script_no_args(void)
{
    execve("./script", no_args, env);
}
static void bad_path(void)
{
    execve(unmapped, args, env);
}
static void kernel_path(void)
{
    execve((char *)0xffffffff81000000, args, env);
}
static void bad_argv(void)
{
    syscall(SYS_execve, "./execs", unmapped, env);
}
static void bad_envp(void)
{
    syscall(SYS_execve, "./execs", args, unmapped);
}
static void null_envp(void)
{
    syscall(SYS_execve, "./execs", args, NULL);
}

static void bad_string(void)
{
    char *bad[] = { zero, unmapped, NULL };
    execve("./execs", bad, env);
}

static void long_name(void)
{
    char name[5000];
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = 0;
    execve(name, args, env);
}

static void long_component(void)
{
    char name[300];
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = 0;
    execve(name, args, env);
}

static void big_string(void)
{
    static char big[200000];
    char *many[] = { zero, big, NULL };
    memset(big, 'x', sizeof(big) - 1);
    execve("./execs", many, env);
}

static void many_strings(void)
{
    static char big[100000];
    static char *many[200];
    memset(big, 'x', sizeof(big) - 1);
    for (int i = 0; i < 199; i++)
        many[i] = big;
    execve("./execs", many, env);
}

// More pointers than fit the engine's own stack.
static void many_args(void)
{
    static char *many[5001];
    many[0] = zero;
    many[1] = (char[]){ "count" };
    for (int i = 2; i < 5000; i++)
        many[i] = zero + 3;
    execve("./execs", many, env);
}

// Each exec'd image prints its own argc: 0 becomes 1.
static void null_argv(void)
{
    syscall(SYS_execve, "./execs", NULL, env);
}
static void empty_argv(void)
{
    syscall(SYS_execve, "./execs", no_args, env);
}

static void being_written(void)
{
    open("./written", O_WRONLY | O_CLOEXEC);
    execve("./written", args, env);
}

static void proc_self_exe(void)
{
    execve("/proc/self/exe", args, env);
}
static void thread_self_exe(void)
{
    execve("/proc/thread-self/exe", args, env);
}

static void proc_pid_exe(void)
{
    char name[50];
    sprintf(name, "/proc//%d/./exe", (int)getpid());
    execve(name, args, env);
}

static void relative_exe(void)
{
    int dir = open("/proc/self", O_PATH | O_DIRECTORY);
    syscall(SYS_execveat, dir, "exe", args, env, 0);
}

static void at_folder(void)
{
    int dir = open(".", O_PATH | O_DIRECTORY);
    if (chdir("/"))
        _exit(9);
    syscall(SYS_execveat, dir, "execs", args, env, 0);
}

static void at_folder_script(void)
{
    int dir = open(".", O_PATH | O_DIRECTORY);
    syscall(SYS_execveat, dir, "script", args, env, 0);
}

static void at_folder_script_closed(void)
{
    int dir = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    syscall(SYS_execveat, dir, "script", args, env, 0);
}

static void at_absolute(void)
{
    syscall(SYS_execveat, -77, self, args, env, 0);
}
static void at_bad_fd(void)
{
    syscall(SYS_execveat, 77, "execs", args, env, 0);
}
static void at_bad_flags(void)
{
    syscall(SYS_execveat, AT_FDCWD, "./execs", args, env, 0x40);
}
static void at_empty(void)
{
    syscall(SYS_execveat, AT_FDCWD, "", args, env, 0);
}
static void at_empty_bad(void)
{
    syscall(SYS_execveat, 77, "", args, env, AT_EMPTY_PATH);
}
static void at_nofollow(void)
{
    syscall(SYS_execveat, AT_FDCWD, "./link", args, env, AT_SYMLINK_NOFOLLOW);
}
static void at_nofollow_file(void)
{
    syscall(SYS_execveat, AT_FDCWD, "./execs", args, env, AT_SYMLINK_NOFOLLOW);
}

static void by_fd(void)
{
    int fd = open("./execs", O_RDONLY | O_CLOEXEC);
    fexecve(fd, args, env);
}

static void by_path_fd(void)
{
    int fd = open("./execs", O_PATH);
    syscall(SYS_execveat, fd, "", args, env, AT_EMPTY_PATH);
}

static void script_by_fd(void)
{
    int fd = open("./script", O_RDONLY);
    fexecve(fd, args, env);
}

static void script_by_closed_fd(void)
{
    int fd = open("./script", O_RDONLY | O_CLOEXEC);
    fexecve(fd, args, env);
}

static void by_memfd(void)
{
    char buf[65536];
    int in = open("./execs", O_RDONLY | O_CLOEXEC), out = memfd_create("image", MFD_CLOEXEC);
    ssize_t n;

    while ((n = read(in, buf, sizeof(buf))) > 0)
        if (write(out, buf, (size_t)n) != n)
            _exit(9);
    fexecve(out, args, env);
}

static void closes(void)
{
    open("./execs", O_RDONLY | O_CLOEXEC);
    open("./execs", O_RDONLY);
    open("./execs", O_RDONLY | O_CLOEXEC);
    execve("./execs", args, env);
}

static void signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGSEGV);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGRTMAX);
    sigprocmask(SIG_SETMASK, &set, NULL);
    signal(SIGUSR2, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    signal(SIGHUP, _exit); // a handler becomes the default
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGTERM);
    execve("./execs", args, env);
}

static void *thread_exec(void *arg)
{
    (void)arg;
    execve("./execs", args, env);
    failed();
    return NULL;
}

static void *thread_wait(void *arg)
{
    for (;;)
        pause();
    return arg;
}

static void from_thread(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, thread_wait, NULL);
    pthread_create(&b, NULL, thread_exec, NULL);
    for (;;)
        pause();
}

// The failure of one exec changes nothing: the next one succeeds.
static void second_try(void)
{
    execve("./not-there", args, env);
    execve("./text", args, env);
    execve("./execs", args, env);
}

static void with_vfork(void)
{
    int status;
    pid_t pid = vfork();

    if (pid == 0) {
        execve("./not-there", args, env);
        execve("./execs", args, env);
        _exit(1);
    }
    waitpid(pid, &status, 0);
    printf("  child of vfork: %#x\n", status);
    fflush(stdout);
    _exit(3);
}

static void spawn(void)
{
    pid_t pid;
    int status, error = posix_spawn(&pid, "./not-there", NULL, NULL, args, env);

    printf("  spawn of nothing: %s\n", strerrorname_np(error));
    error = posix_spawn(&pid, "./text", NULL, NULL, args, env);
    printf("  spawn of text: %s\n", strerrorname_np(error));
    fflush(stdout);
    error = posix_spawn(&pid, "./execs", NULL, NULL, args, env);
    waitpid(pid, &status, 0);
    printf("  spawn: %d, %#x\n", error, status);
    fflush(stdout);
    status = system("echo '  system'; exit 5");
    printf("  system: %#x\n", status);
    FILE *f = popen("echo popen", "r");
    char line[20] = "";
    if (!fgets(line, sizeof(line), f))
        printf("  no line\n");
    printf("  %s  pclose: %#x\n", line, pclose(f));
    fflush(stdout);
    _exit(4);
}

static void chain(void)
{
    execve("/bin/sh",
           (char *[]){ (char[]){ "sh" }, (char[]){ "-c" }, (char[]){ "exec ./execs show $0" }, zero,
                       NULL },
           env);
}

static void limits(void)
{
    struct rlimit l;
    getrlimit(RLIMIT_NOFILE, &l);
    l.rlim_cur = 64;
    setrlimit(RLIMIT_NOFILE, &l);
    execve("./execs", args, env);
}

// ---- Files that the cases need ----

static void make(const char *name, const char *contents, mode_t mode)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (write(fd, contents, strlen(contents)) < 0)
        perror(name);
    fchmod(fd, mode);
    close(fd);
}

static void copy_self(const char *name)
{
    char buf[65536];
    int in = open("./execs", O_RDONLY), out = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    ssize_t n;

    while ((n = read(in, buf, sizeof(buf))) > 0)
        if (write(out, buf, (size_t)n) != n)
            perror(name);
    close(in);
    close(out);
}

#define CASE(f) \
    {           \
#        f, f   \
    }

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        action *a;
    } cases[] = {
        CASE(plain),
        CASE(absolute),
        CASE(missing),
        CASE(empty),
        CASE(folder),
        CASE(no_x),
        CASE(not_folder),
        CASE(link_loop),
        CASE(by_link),
        CASE(text),
        CASE(nothing),
        CASE(no_interp),
        CASE(script),
        CASE(script_gone),
        CASE(script_no_x),
        CASE(script_loop),
        CASE(script_nested),
        CASE(script_no_args),
        CASE(bad_path),
        CASE(kernel_path),
        CASE(bad_argv),
        CASE(bad_envp),
        CASE(null_envp),
        CASE(bad_string),
        CASE(long_name),
        CASE(long_component),
        CASE(big_string),
        CASE(many_strings),
        CASE(many_args),
        CASE(null_argv),
        CASE(empty_argv),
        CASE(being_written),
        CASE(proc_self_exe),
        CASE(thread_self_exe),
        CASE(proc_pid_exe),
        CASE(relative_exe),
        CASE(at_folder),
        CASE(at_folder_script),
        CASE(at_folder_script_closed),
        CASE(at_absolute),
        CASE(at_bad_fd),
        CASE(at_bad_flags),
        CASE(at_empty),
        CASE(at_empty_bad),
        CASE(at_nofollow),
        CASE(at_nofollow_file),
        CASE(by_fd),
        CASE(by_path_fd),
        CASE(script_by_fd),
        CASE(script_by_closed_fd),
        CASE(by_memfd),
        CASE(closes),
        CASE(signals),
        CASE(from_thread),
        CASE(second_try),
        CASE(with_vfork),
        CASE(spawn),
        CASE(chain),
        CASE(limits),
    };

    if (argc > 1 && strcmp(argv[1], "count") == 0) {
        printf("  argc %d, the last is %s\n", argc, argv[argc - 1]);
        return 18;
    }
    if (argc != 2 || strcmp(argv[1], "cases")) // a case executes all others
        return show(argc, argv);

    if (!realpath("./execs", self))
        return 2;
    unmapped = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    make("plain-file", "x", 0644);
    make("text", "exit 3\n", 0755);
    make("empty", "", 0755);
    make("script", "#!./execs  an argument \n", 0755);
    make("script-gone", "#!/not/there\n", 0755);
    make("script-no-x", "#!./plain-file\n", 0755);
    make("script-loop", "#!./script-loop\n", 0755);
    make("script-nested", "#!./script more\n", 0755);
    copy_self("written");
    if (symlink("loop", "loop") || symlink("execs", "link"))
        perror("symlink");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        run(cases[i].name, cases[i].a);
    return 0;
}
