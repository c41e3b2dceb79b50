// SPDX-License-Identifier: MIT
//
// --dump-code: disassembles what the engine noted of its translations (struct spool_code of
// share/spool.h, in <spool>.code): for each block, the client's instructions beside the code made
// of them. Intel syntax; a jump or call to a known place is followed by its name.
#include "finish/output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

#include "cli/base/util.h"
#include "cli/files/file.h"

struct dump {
    const struct spool_file *s;
    ZydisDecoder decoder;
    ZydisFormatter formatter;
    const unsigned char *facts;
    size_t size;
    struct place {
        uint64_t hpc;
        const char *name;
    } * place; // of the stubs, in no order
    size_t places;
};

struct record {
    const struct spool_code *h;
    const struct spool_code_insn *insn;
    const struct spool_code_part *part;
    const unsigned char *code;
};

// Reads the record at *at and advances *at. False at the end or at an incomplete record.
static bool next_record(const struct dump *d, size_t *at, struct record *r)
{
    static struct spool_code head; // aligned, as the bytes of the file need not be
    size_t left = d->size - *at, need;

    if (left < sizeof(head))
        return false;
    memcpy(&head, d->facts + *at, sizeof(head));
    need = sizeof(head) + (size_t)head.insns * sizeof(*r->insn) +
           (size_t)head.parts * sizeof(*r->part) + head.bytes;
    if (head.magic != SPOOL_CODE_MAGIC || left < need)
        return false;
    r->h = &head;
    r->insn = (const void *)(d->facts + *at + sizeof(head));
    r->part = (const void *)(r->insn + head.insns);
    r->code = (const void *)(r->part + head.parts);
    *at += need;
    return true;
}

static const char *name_of(const struct dump *d, uint64_t hpc)
{
    for (size_t i = 0; i < d->places; i++)
        if (d->place[i].hpc == hpc)
            return d->place[i].name;
    return NULL;
}

// The name need not end in a NUL.
static char *stub_name(const struct spool_code *h)
{
    char name[sizeof(h->name) + 1] = "";

    memcpy(name, h->name, sizeof(h->name));
    return spool_file_line(name);
}

static void read_places(struct dump *d)
{
    struct record r;
    size_t at = 0;

    while (next_record(d, &at, &r)) {
        if (!r.h->name[0])
            continue;
        d->place = xrealloc(d->place, (d->places + 1) * sizeof(*d->place));
        d->place[d->places].hpc = r.h->hpc;
        d->place[d->places++].name = stub_name(r.h);
    }
}

static void bytes_text(FILE *f, const unsigned char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fprintf(f, "%02x", b[i]);
}

// One instruction. Returns its length, 0 if it cannot be decoded.
static size_t instruction(const struct dump *d, FILE *f, const char *indent, uint64_t pc,
                          const unsigned char *b, size_t n)
{
    ZydisDecodedInstruction in;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
    char text[256];
    const char *name = NULL;
    ZyanU64 target;

    if (ZYAN_FAILED(ZydisDecoderDecodeFull(&d->decoder, b, n, &in, op)))
        return 0;
    ZydisFormatterFormatInstruction(&d->formatter, &in, op, in.operand_count_visible, text,
                                    sizeof(text), pc, NULL);
    if (in.operand_count_visible && op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
        op[0].imm.is_relative && ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&in, &op[0], pc, &target)))
        name = name_of(d, target);
    fprintf(f, "%s%llx  %s%s%s\n", indent, (unsigned long long)pc, text, name ? "  ; " : "",
            name ? name : "");
    return in.length;
}

// Host code up to `end`. Bytes that cannot be decoded are shown as such.
static void host_code(const struct dump *d, FILE *f, const struct record *r, size_t at, size_t end)
{
    while (at < end) {
        size_t n = instruction(d, f, "        ", r->h->hpc + at, r->code + at, end - at);

        if (!n) {
            fprintf(f, "        %llx  no instruction: ", (unsigned long long)(r->h->hpc + at));
            bytes_text(f, r->code + at, end - at);
            fputc('\n', f);
            return;
        }
        at += n;
    }
}

static void host_words(FILE *f, const struct record *r, size_t at, size_t end)
{
    for (; at + 4 <= end; at += 4) {
        uint32_t w;

        memcpy(&w, r->code + at, 4);
        fprintf(f, "        %llx  .long 0x%x\n", (unsigned long long)(r->h->hpc + at), w);
    }
}

// A damaged record gives no more bytes than it holds.
static size_t length(const struct spool_code_insn *in)
{
    return in->len < sizeof(in->bytes) ? in->len : sizeof(in->bytes);
}

static void client_insn(const struct dump *d, FILE *f, const struct record *r, uint32_t i)
{
    uint64_t pc = r->insn[i].pc;

    if (!instruction(d, f, "    ", pc, r->insn[i].bytes, length(&r->insn[i]))) {
        fprintf(f, "    %llx  no instruction: ", (unsigned long long)pc);
        bytes_text(f, r->insn[i].bytes, length(&r->insn[i]));
        fputc('\n', f);
    }
}

static void block_part(const struct dump *d, FILE *f, const struct record *r, uint32_t i)
{
    const struct spool_code_part *p = &r->part[i];
    size_t end = i + 1 < r->h->parts ? p[1].off : r->h->bytes;

    if (end > r->h->bytes || p->off > end)
        return; // damaged
    switch (p->kind) {
    case SPOOL_CODE_MAIN:
        if (p->insn < r->h->insns)
            client_insn(d, f, r, p->insn);
        break;
    case SPOOL_CODE_COLD:
        if (p->off == end)
            return;
        fprintf(f, "    cold, of instruction %u\n", p->insn + 1u);
        break;
    case SPOOL_CODE_DATA: host_words(f, r, p->off, end); return;
    case SPOOL_CODE_HOTBLOCKS: fprintf(f, "    second entry\n"); break;
    case SPOOL_CODE_EXIT: fprintf(f, "    exit %u\n", p->insn); break;
    default: break;
    }
    host_code(d, f, r, p->off, end);
}

static void block(const struct dump *d, FILE *f, const struct record *r)
{
    fprintf(f, "\nblock %llx at %llx: %u instructions, %u bytes of code\n",
            (unsigned long long)r->h->pc, (unsigned long long)r->h->hpc, r->h->insns, r->h->bytes);
    if (!r->h->parts) { // stepped
        for (uint32_t i = 0; i < r->h->insns; i++)
            client_insn(d, f, r, i);
        return;
    }
    for (uint32_t i = 0; i < r->h->parts; i++)
        block_part(d, f, r, i);
}

static void write_dump(FILE *f, const void *ctx)
{
    const struct dump *d = ctx;
    const struct spool_header *h = d->s->h;
    char *cmd = spool_file_line(spool_file_text(d->s, h->s_cmd)), *name;
    struct record r;
    size_t at = 0;

    fprintf(f, "Code that quern made for process %d: %s\n", h->pid, cmd);
    free(cmd);
    while (next_record(d, &at, &r)) {
        if (!r.h->name[0]) {
            block(d, f, &r);
            continue;
        }
        name = stub_name(r.h);
        fprintf(f, "\nstub %s at %llx: %u bytes of code\n", name, (unsigned long long)r.h->hpc,
                r.h->bytes);
        free(name);
        host_code(d, f, &r, 0, r.h->bytes);
    }
}

static unsigned char *read_facts(const char *path, size_t *size)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    bool ours = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
    FILE *f = ours ? fdopen(fd, "r") : NULL;
    unsigned char *all = NULL;
    size_t room = 0, n;

    *size = 0;
    if (!f) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    do {
        if (room - *size < 65536)
            all = xrealloc(all, room = room * 2 + 65536);
        n = fread(all + *size, 1, room - *size, f);
        *size += n;
    } while (n);
    fclose(f);
    return all;
}

static int write_named(struct dump *d, const char *path, char *err, size_t err_size)
{
    int rc;

    ZydisDecoderInit(&d->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisFormatterInit(&d->formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    ZydisFormatterSetProperty(&d->formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
    ZydisFormatterSetProperty(&d->formatter, ZYDIS_FORMATTER_PROP_FORCE_SIZE, ZYAN_TRUE);
    ZydisFormatterSetProperty(&d->formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
                              ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(&d->formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING,
                              ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(&d->formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING,
                              ZYDIS_PADDING_DISABLED);
    read_places(d);
    rc = file_write(path, write_dump, d);
    if (rc != 0)
        snprintf(err, err_size, "%s: cannot be written: %s", path, strerror(-rc));
    return rc ? -1 : 0;
}

int output_code(const struct spool_file *s, const struct output_files *files, char *err,
                size_t err_size)
{
    struct dump d = { .s = s };
    unsigned char *facts;
    int rc;

    if (!files->code)
        return 0;
    d.facts = facts = read_facts(files->facts, &d.size);
    rc = write_named(&d, files->code, err, err_size);
    if (rc == 0)
        unlink(files->facts);
    for (size_t i = 0; i < d.places; i++)
        free((char *)d.place[i].name);
    free(d.place);
    free(facts);
    return rc;
}
