// SPDX-License-Identifier: MIT
//
// `quern diff --to=junit`: a test report, as CI servers show it, in which every limit is a test.
#include "cli/diff/diff.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/profiles/read.h"

// Text within an attribute or an element. Control characters and those that change the direction of
// writing become character references. XML 1.0 cannot represent most of the former, U+FFFE, U+FFFF
// and bytes that are not UTF-8: they become U+FFFD.
static void put_text(FILE *f, const char *text)
{
    const char *end = text + strlen(text);
    size_t n;

    for (const char *s = text; s < end; s += n) {
        int32_t c = text_decode(s, (size_t)(end - s), &n);
        bool none = c < ' ' && c != '\t' && c != '\n' && c != '\r';

        if (c == '&')
            fputs("&amp;", f);
        else if (c == '<')
            fputs("&lt;", f);
        else if (c == '>')
            fputs("&gt;", f);
        else if (c == '"')
            fputs("&quot;", f);
        else if (none || c == 0xfffe || c == 0xffff)
            fputs("\xef\xbf\xbd", f);
        else if (!text_is_shown(c))
            fprintf(f, "&#%u;", (unsigned)c);
        else
            fwrite(s, 1, n, f);
    }
}

// The sentence twice: some servers show the message, others the text.
static void put_fault(FILE *f, const char *element, const char *type, const char *sentence)
{
    fprintf(f, "      <%s type=\"%s\" message=\"", element, type);
    put_text(f, sentence);
    fputs("\">", f);
    put_text(f, sentence);
    fprintf(f, "</%s>\n", element);
}

static void put_output(FILE *f, const char *sentence)
{
    fputs("      <system-out>", f);
    put_text(f, sentence);
    fputs("</system-out>\n", f);
}

void diff_junit(FILE *f, const void *ctx)
{
    const struct diff *d = ctx;
    const char *cmd = read_command(d->new_.p);
    size_t exceeded = 0, missing = 0;

    for (size_t i = 0; i < d->fail_if.count; i++) {
        exceeded += d->limit[i].exceeded;
        missing += d->limit[i].missing;
    }
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", f);
    fprintf(f, "<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n", d->fail_if.count,
            exceeded, missing);
    fputs("  <testsuite name=\"", f);
    put_text(f, *cmd ? cmd : d->new_.path);
    fprintf(f, "\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"0\">\n",
            d->fail_if.count, exceeded, missing);
    for (size_t i = 0; i < d->fail_if.count; i++) {
        const struct diff_limit *l = &d->limit[i];
        char *sentence = diff_sentence(d, l);

        fputs("    <testcase classname=\"quern.diff\" name=\"", f);
        put_text(f, l->text);
        fputs("\">\n", f);
        if (l->missing)
            put_fault(f, "error", "missing", sentence);
        else if (l->exceeded)
            put_fault(f, "failure", "limit", sentence);
        else
            put_output(f, sentence);
        fputs("    </testcase>\n", f);
        free(sentence);
    }
    fputs("  </testsuite>\n</testsuites>\n", f);
}
