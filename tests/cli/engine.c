// SPDX-License-Identifier: MIT
//
// A stand-in for the engine, for the tests of cli/: fills the spool it is given with what a script
// says, marks the end and executes the finisher, so that every line of the finisher's output can be
// known in advance. Started by `quern run` through QUERN_ENGINE; the script's name is in
// QUERN_TEST_SPOOL. Lines of a script:
//
//     map START END OFFSET PATH FLAGS    PATH "@": the program, "-": none
//     block PC MAP INSN...               INSN is LEN[FLAGS][:READS,WRITES], FLAGS of FCIDRS, the
//                                        bits of spool_insn_flag in order
//     plt                                the last block is of a linkage table
//     counter INDEX VALUE [THREAD]       counted over the whole spool, as the blocks take them
//     edge KIND SITE TARGET              of --calls=yes, both in map 0; it takes its counters
//     context FUNCTION TO FROM           the next one: its function, which call, its caller
//     piece BLOCK                        its own counters are of the context in a new one
//     account BLOCK CONTEXT              its counters in this context, which are new ones
//     insns N                            the last block says that it has so many instructions
//     partial BLOCK INSN COUNT           BLOCK counts the block lines from 0
//     stat NAME VALUE                    translated insns ns dispatch iblmiss links
//     print TEXT                         to standard output, as a client would
//     stderr FILE                        the client makes descriptor 2 a file of its own
//     text NAME TEXT                     the spool's text of this name (s_NAME), with \n in it for
//                                        the end of a line
//     pid N                              the process id that the spool has: that of a child
//     flags N                            sets these of spool_flag, too
//     version N                          the spool is of this version
//     damage                             the block cursor is set behind the last record
//     say WHAT                           to standard output: `folder` of the spools of children,
//                                        `skip`, the children that are left out, `open`, those of
//                                        the signals 1 to 31 that are not blocked, `header`,
//                                        each number of the header: its name, offset and size, or
//                                        `machine`, the one of --machine
//     hear                               `quern control` may ask: nobody will answer
//     wait FILE                          until there is such a file, for a minute at most
//     end exit N | end signal N          the finisher is executed after this
//     end killed                         SIGKILL, as from outside
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "share/spool.h"

static char *base;
static struct spool_header *h;
static uint32_t block_at[4096];
static unsigned blocks;

_Noreturn static void fail(const char *what, const char *line)
{
    fprintf(stderr, "engine: %s: %s\n", what, line);
    exit(99);
}

static uint64_t next_number(const char *line)
{
    char *word = strtok(NULL, " \n");
    char *end;
    uint64_t n;

    if (!word)
        fail("a number is missing", line);
    n = strtoull(word, &end, 0);
    if (*end)
        fail("not a number", word);
    return n;
}

static uint32_t add_text(const char *s)
{
    uint32_t at = (uint32_t)h->text_used;

    strcpy(base + SPOOL_TEXT_OFF + at, s);
    h->text_used += strlen(s) + 1;
    return at;
}

static void add_map(const char *line)
{
    struct spool_map *m = (struct spool_map *)(base + SPOOL_MAPS_OFF) + h->maps_used;
    char *path;

    m->start = next_number(line);
    m->end = next_number(line);
    m->offset = next_number(line);
    path = strtok(NULL, " \n");
    if (!path)
        fail("a path is missing", line);
    if (strcmp(path, "@") == 0)
        m->path = h->s_program;
    else if (strcmp(path, "-") != 0)
        m->path = add_text(path);
    m->flags = (uint32_t)next_number(line);
    h->maps_used++;
}

static struct spool_insn parse_insn(char *word)
{
    static const char letters[] = "FCIDRS";
    struct spool_insn in = { 0 };
    char *p;

    in.len = (uint8_t)strtoul(word, &p, 10);
    for (; *p && *p != ':'; p++) {
        const char *letter = strchr(letters, *p);

        if (!letter)
            fail("unknown flag", word);
        in.flags |= (uint8_t)(1u << (letter - letters));
    }
    if (*p == ':') {
        unsigned reads, writes;

        if (sscanf(p, ":%u,%u", &reads, &writes) != 2)
            fail("reads and writes", word);
        in.reads = (uint8_t)reads;
        in.writes = (uint8_t)writes;
    }
    return in;
}

static void add_block(const char *line)
{
    struct spool_block *b = (struct spool_block *)(base + SPOOL_BLOCKS_OFF + h->blocks_used);
    struct spool_insn *in = (struct spool_insn *)(b + 1);
    char *word;

    b->pc = next_number(line);
    b->map = next_number(line) & 0x1ffff;
    b->counter = (uint32_t)h->counters_used++;
    b->own = (uint32_t)h->counters_used;
    while ((word = strtok(NULL, " \n"))) {
        in[b->insns] = parse_insn(word);
        h->counters_used += spool_insn_counters(in[b->insns], h->flags).count;
        b->insns++;
    }
    block_at[blocks++] = (uint32_t)(h->blocks_used / 8);
    h->blocks_used += (sizeof(*b) + b->insns * sizeof(*in) + 7) & ~UINT64_C(7);
    h->block_count++;
}

// Executions of the blocks that have these counters, together.
static void add_sum(void)
{
    struct spool_block *b = (struct spool_block *)(base + SPOOL_BLOCKS_OFF + h->blocks_used);
    uint32_t *of = (uint32_t *)(b + 1);
    char *word;

    b->flags = SPOOL_B_SUM;
    b->counter = (uint32_t)h->counters_used++;
    while ((word = strtok(NULL, " \n")))
        of[b->insns++] = (uint32_t)strtoul(word, NULL, 0);
    h->blocks_used += (sizeof(*b) + b->insns * sizeof(*of) + 7) & ~UINT64_C(7);
}

static struct spool_block *block_of(uint32_t at)
{
    return (struct spool_block *)(base + SPOOL_BLOCKS_OFF + (uint64_t)at * 8);
}

static struct spool_block *last_block(void)
{
    return block_of(block_at[blocks - 1]);
}

static struct spool_edge *new_edge(unsigned kind)
{
    struct spool_edge *e = (struct spool_edge *)(base + SPOOL_EDGES_OFF) + h->edges_used++;

    e->kind = (uint8_t)kind;
    return e;
}

static void add_edge(const char *line)
{
    struct spool_edge *e = new_edge((unsigned)next_number(line));

    e->site = next_number(line);
    e->target = e->function = next_number(line);
    e->counter = (uint32_t)h->counters_used;
    h->counters_used += 1 + spool_event_index(SPOOL_EVENTS, h->flags);
}

static void add_context(const char *line)
{
    struct spool_edge *e = new_edge(SPOOL_EDGE_CONTEXT);

    e->target = e->function = next_number(line);
    e->to = (uint32_t)next_number(line);
    e->from = (uint32_t)next_number(line);
}

static void add_piece(const char *line)
{
    struct spool_edge *e = new_edge(SPOOL_EDGE_PIECE);

    e->target = block_at[next_number(line)];
    e->to = (uint32_t)h->counters_used++;
}

static void add_account(const char *line)
{
    struct spool_edge *e = new_edge(SPOOL_EDGE_ACCOUNT);
    const struct spool_block *b;

    e->target = block_at[next_number(line)];
    e->to = (uint32_t)next_number(line);
    e->counter = (uint32_t)h->counters_used++;
    b = block_of((uint32_t)e->target);
    for (uint32_t i = 0; i < b->insns; i++)
        h->counters_used +=
            spool_insn_counters(((const struct spool_insn *)(b + 1))[i], h->flags).count;
}

static void set_counter(int fd, const char *line)
{
    uint64_t index = next_number(line);
    uint64_t value = next_number(line);
    char *word = strtok(NULL, " \n");
    uint64_t thread = word ? strtoull(word, NULL, 0) : 0;
    uint64_t off = SPOOL_THREADS_OFF + thread * SPOOL_THREAD_SIZE;

    if (thread >= h->threads_used) {
        h->threads_used = thread + 1;
        if (ftruncate(fd, (off_t)(off + SPOOL_THREAD_SIZE)) != 0)
            fail(strerror(errno), line);
    }
    if (pwrite(fd, &value, sizeof(value), (off_t)(off + index * 8)) != sizeof(value))
        fail(strerror(errno), line);
}

static void set_stat(const char *line)
{
    char *name = strtok(NULL, " \n");
    uint64_t value = next_number(line);

    if (strcmp(name, "translated") == 0)
        h->n_translated = value;
    else if (strcmp(name, "insns") == 0)
        h->n_translated_insns = value;
    else if (strcmp(name, "ns") == 0)
        h->ns_translating = value;
    else if (strcmp(name, "dispatch") == 0)
        h->n_dispatch = value;
    else if (strcmp(name, "iblmiss") == 0)
        h->n_ibl_miss = value;
    else if (strcmp(name, "links") == 0)
        h->n_links = value;
    else if (strcmp(name, "kept") == 0)
        h->n_pcache_revived = value;
    else if (strcmp(name, "saved") == 0)
        h->n_pcache_saved = value;
    else if (strcmp(name, "superblocks") == 0)
        h->n_superblocks = value;
    else if (strcmp(name, "inthem") == 0)
        h->n_superblock_blocks = value;
    else
        fail("unknown statistic", name);
}

// As a client may that has its spool in its memory.
static void set_text(char *line)
{
    static const struct {
        const char *name;
        size_t at;
    } texts[] = {
        { "cmd", offsetof(struct spool_header, s_cmd) },
        { "desc", offsetof(struct spool_header, s_desc) },
        { "output", offsetof(struct spool_header, s_output) },
        { "dump_counts", offsetof(struct spool_header, s_dump_counts) },
        { "dump_code", offsetof(struct spool_header, s_dump_code) },
        { "tree", offsetof(struct spool_header, s_tree) },
        { "spool", offsetof(struct spool_header, s_spool) },
        { "symbol_cache", offsetof(struct spool_header, s_symbol_cache) },
    };
    char *name = strtok(NULL, " \n"), *text = strtok(NULL, "\n"), *w = text;

    if (!text)
        fail("a text is missing", line);
    for (char *p = text; *p; p++, w++)
        *w = p[0] == '\\' && p[1] == 'n' ? (p++, '\n') : *p;
    *w = '\0';
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (strcmp(name, texts[i].name) == 0) {
            *(uint32_t *)((char *)h + texts[i].at) = add_text(text);
            return;
        }
    fail("unknown text", name);
}

#define FIELD(f)                                                                    \
    {                                                                               \
#        f, offsetof(struct spool_header, f), sizeof(((struct spool_header *)0)->f) \
    }

static void say_header(void)
{
    static const struct {
        const char *name;
        size_t at, size;
    } fields[] = {
        FIELD(state),          FIELD(pid),
        FIELD(parent_pid),     FIELD(end_kind),
        FIELD(end_code),       FIELD(flags),
        FIELD(i1.size),        FIELD(dumps),
        FIELD(text_used),      FIELD(maps_used),
        FIELD(blocks_used),    FIELD(counters_used),
        FIELD(partial_used),   FIELD(threads_used),
        FIELD(block_count),    FIELD(s_cmd),
        FIELD(s_program),      FIELD(s_output),
        FIELD(s_log),          FIELD(s_spool),
        FIELD(s_desc),         FIELD(s_dump_counts),
        FIELD(s_dump_code),    FIELD(s_symbol_cache),
        FIELD(s_tree),         FIELD(tree_pid),
        FIELD(every_blocks),   FIELD(systime_unit),
        FIELD(s_translations), FIELD(edges_used),
        FIELD(calls),          FIELD(owner),
        FIELD(n_blocks_gone),  FIELD(n_blocks_dumped),
        FIELD(start_time),     FIELD(n_pcache_saved),
    };

    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        printf("%s %zu %zu\n", fields[i].name, fields[i].at, fields[i].size);
}

// The flag, then the name, L2 and how lines are replaced and brought in.
static void say_machine(void)
{
    const struct spool_machine *m = &h->machine;

    printf("%s '%s' %u,%u,%u %u %u %u\n", h->flags & SPOOL_F_L2 ? "L2" : "no L2",
           base + SPOOL_TEXT_OFF + m->s_name, m->l2.size, m->l2.assoc, m->l2.line,
           m->l2_replacement, m->ll_replacement, m->ll_filling);
}

static void say(const char *line)
{
    char *what = strtok(NULL, " \n");

    if (strcmp(what, "folder") == 0) {
        puts(base + SPOOL_TEXT_OFF + h->s_spool_dir);
    } else if (strcmp(what, "skip") == 0) {
        puts(base + SPOOL_TEXT_OFF + h->s_skip);
    } else if (strcmp(what, "header") == 0) {
        say_header();
    } else if (strcmp(what, "machine") == 0) {
        say_machine();
    } else if (strcmp(what, "open") == 0) {
        sigset_t blocked;

        sigprocmask(SIG_BLOCK, NULL, &blocked);
        printf("open:");
        for (int sig = 1; sig < 32; sig++)
            if (!sigismember(&blocked, sig))
                printf(" %d", sig);
        putchar('\n');
    } else {
        fail("nothing to say", line);
    }
    fflush(stdout);
}

// What asks would end this process. The C library does not let its number be blocked.
static void hear(void)
{
    const uint64_t mask = UINT64_C(1) << (SPOOL_REQUEST_SIGNAL - 1);

    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, sizeof(mask));
    h->control.counts = h->control.hears = 1;
}

static void wait_for(const char *line)
{
    char *file = strtok(NULL, " \n");
    const struct timespec step = { 0, 10000000 };

    for (int i = 0; i < 6000; i++) {
        if (access(file, F_OK) == 0)
            return;
        nanosleep(&step, NULL);
    }
    fail("never", line);
}

static void end(int fd, const char *line)
{
    char *how = strtok(NULL, " \n");
    char number[16];

    if (strcmp(how, "killed") == 0)
        raise(SIGKILL);
    h->end_kind = strcmp(how, "exit") == 0 ? SPOOL_END_EXIT : SPOOL_END_SIGNAL;
    h->end_code = (int32_t)next_number(line);
    h->state = SPOOL_ENDED;
    snprintf(number, sizeof(number), "%d", fd);
    if (getenv("QUERN_TEST_FINISHER"))
        execl(getenv("QUERN_TEST_FINISHER"), "quern", "--finish", number, (char *)NULL);
    execl(base + SPOOL_TEXT_OFF + h->s_quern, "quern", "--finish", number, (char *)NULL);
    fail(strerror(errno), "exec");
}

int main(int argc, char **argv)
{
    const char *script = getenv("QUERN_TEST_SPOOL");
    char line[4096], copy[4096];
    int fd = argc > 1 ? atoi(argv[1]) : -1;
    FILE *f;

    base = mmap(NULL, SPOOL_THREADS_OFF, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        fail(strerror(errno), "the spool");
    h = (struct spool_header *)base;
    h->state = SPOOL_RUNNING;
    f = fopen(script ? script : "", "re");
    if (!f)
        fail(strerror(errno), "the script");
    while (fgets(line, sizeof(line), f)) {
        char *word;

        strcpy(copy, line);
        word = strtok(line, " \n");
        if (!word)
            continue;
        if (strcmp(word, "map") == 0) {
            add_map(copy);
        } else if (strcmp(word, "block") == 0) {
            add_block(copy);
        } else if (strcmp(word, "edge") == 0) {
            add_edge(copy);
        } else if (strcmp(word, "context") == 0) {
            add_context(copy);
        } else if (strcmp(word, "piece") == 0) {
            add_piece(copy);
        } else if (strcmp(word, "account") == 0) {
            add_account(copy);
        } else if (strcmp(word, "insns") == 0) {
            last_block()->insns = next_number(copy) & 0x7ff;
        } else if (strcmp(word, "sum") == 0) {
            add_sum();
        } else if (strcmp(word, "plt") == 0) {
            last_block()->flags |= SPOOL_B_PLT;
        } else if (strcmp(word, "counter") == 0) {
            set_counter(fd, copy);
        } else if (strcmp(word, "partial") == 0) {
            struct spool_partial *p =
                (struct spool_partial *)(base + SPOOL_PARTIAL_OFF) + h->partial_used++;

            p->block = block_at[next_number(copy)];
            p->insn = (uint32_t)next_number(copy);
            p->count = next_number(copy);
        } else if (strcmp(word, "stat") == 0) {
            set_stat(copy);
        } else if (strcmp(word, "print") == 0) {
            fputs(copy + 6, stdout);
            fflush(stdout);
        } else if (strcmp(word, "stderr") == 0) {
            int own = open(strtok(NULL, " \n"), O_WRONLY | O_CREAT, 0666);

            if (own < 0 || dup2(own, STDERR_FILENO) < 0)
                fail(strerror(errno), line);
        } else if (strcmp(word, "text") == 0) {
            set_text(copy);
        } else if (strcmp(word, "pid") == 0) {
            h->pid = (int32_t)next_number(copy);
        } else if (strcmp(word, "flags") == 0) {
            h->flags |= next_number(copy);
        } else if (strcmp(word, "version") == 0) {
            h->version = (uint32_t)next_number(copy);
        } else if (strcmp(word, "damage") == 0) {
            h->blocks_used += 16;
        } else if (strcmp(word, "say") == 0) {
            say(copy);
        } else if (strcmp(word, "hear") == 0) {
            hear();
        } else if (strcmp(word, "wait") == 0) {
            wait_for(copy);
        } else if (strcmp(word, "end") == 0) {
            end(fd, copy);
        } else {
            fail("unknown line", copy);
        }
    }
    fail("the script has no end", script);
}
