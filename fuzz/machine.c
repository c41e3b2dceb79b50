// SPDX-License-Identifier: MIT
//
// Fuzzer of machine files: what is read can be simulated and has a title; an error has a message
// without control characters, and a place within the file.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "machine/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_machine(const struct machine *m)
{
    enum machine_level at;
    char why[MACHINE_WHY];

    if (!machine_check(m, &at, why) || !m->title[0] || strlen(m->title) > MACHINE_TITLE_MAX)
        abort();
    if (m->l2_replacement >= SPOOL_REPLACEMENTS || m->ll_replacement >= SPOOL_REPLACEMENTS ||
        m->ll_filling >= SPOOL_FILLINGS || m->index >= SPOOL_INDICES ||
        m->first_replacement != SPOOL_LRU)
        abort();
}

static void check_error(const struct machine_error *e, const uint8_t *data, size_t size)
{
    unsigned lines = 1;

    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    if (!e->text[0] || !e->line || e->line > lines || !e->column || e->column > size + 1)
        abort();
    for (const char *s = e->text; *s; s++)
        if ((unsigned char)*s < ' ' && *s != '\t')
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1);
    struct machine m;
    struct machine_error e;

    if (!text)
        abort();
    if (size)
        memcpy(text, data, size);
    if (machine_read(&m, text, size, &e))
        check_machine(&m);
    else
        check_error(&e, data, size);
    free(text);
    return 0;
}
