// SPDX-License-Identifier: MIT
//
// Parts: adding, their header fields, copying.
#include "profile/model/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/events.h"
#include "profile/model/formula.h"
#include "profile/model/text.h"

int parts_add(struct quern_profile *p)
{
    struct part *q = realloc(p->part, (p->part_count + 1) * sizeof(*q));

    if (!q)
        return -ENOMEM;
    p->part = q;
    memset(&q[p->part_count++], 0, sizeof(*q));
    return 0;
}

int quern_profile_begin_part(struct quern_profile *p)
{
    return parts_add(p);
}

void parts_clear(struct part *part)
{
    free(part->cmd);
    free(part->creator);
    for (size_t i = 0; i < part->desc_count; i++)
        free(part->desc[i]);
    free(part->desc);
    memset(part, 0, sizeof(*part));
}

static struct part *last_part(struct quern_profile *p)
{
    return &p->part[p->part_count - 1];
}

int quern_profile_set_cmd(struct quern_profile *p, const char *cmd)
{
    return text_set(&last_part(p)->cmd, cmd);
}

int quern_profile_set_creator(struct quern_profile *p, const char *creator)
{
    return text_set(&last_part(p)->creator, creator);
}

int quern_profile_set_pid(struct quern_profile *p, uint64_t pid)
{
    last_part(p)->pid = pid;
    last_part(p)->has_pid = true;
    return 0;
}

int quern_profile_set_thread(struct quern_profile *p, uint64_t thread)
{
    last_part(p)->thread = thread;
    last_part(p)->has_thread = true;
    return 0;
}

int quern_profile_set_part(struct quern_profile *p, uint64_t part)
{
    last_part(p)->part = part;
    last_part(p)->has_part = true;
    return 0;
}

int parts_add_desc(struct quern_profile *p, const char *text, size_t len)
{
    struct part *part = last_part(p);
    char **d = realloc(part->desc, (part->desc_count + 1) * sizeof(*d));

    if (!d)
        return -ENOMEM;
    part->desc = d;
    if (!(d[part->desc_count] = text_dup(text, len)))
        return -ENOMEM;
    part->desc_count++;
    return 0;
}

int quern_profile_add_desc(struct quern_profile *p, const char *key, const char *value)
{
    size_t k = strlen(key), v = strlen(value);
    char *s = malloc(k + v + 3);

    if (!s)
        return -ENOMEM;
    memcpy(s, key, k);
    memcpy(s + k, ": ", 2);
    memcpy(s + k + 2, value, v + 1);
    int rc = parts_add_desc(p, s, k + v + 2);
    free(s);
    return rc;
}

void quern_profile_clear_desc(struct quern_profile *p)
{
    struct part *part = last_part(p);

    for (size_t i = 0; i < part->desc_count; i++)
        free(part->desc[i]);
    part->desc_count = 0;
}

// What holds for a single process alone.
static bool is_single(const char *desc)
{
    static const char *const begins[] = { "Curve ",   "Walk: ",      "Walk at: ",
                                          "Blocks: ", "Sharing: ",   "Sharing order: ",
                                          "Use: ",    "Use sample: " };

    for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
        if (strncmp(desc, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

void parts_sum_desc(struct quern_profile *p)
{
    struct part *part = &p->part[0];
    size_t n = 0;

    for (size_t i = 0; i < part->desc_count; i++) {
        if (is_single(part->desc[i]))
            free(part->desc[i]);
        else
            part->desc[n++] = part->desc[i];
    }
    part->desc_count = n;
}

size_t quern_profile_part_count(const struct quern_profile *p)
{
    return p->part_count;
}

int quern_profile_part(const struct quern_profile *p, size_t i, struct quern_part *out)
{
    if (i >= p->part_count)
        return -ENOENT;
    const struct part *q = &p->part[i];
    *out = (struct quern_part){ .cmd = q->cmd,
                                .creator = q->creator,
                                .has_pid = q->has_pid,
                                .has_thread = q->has_thread,
                                .has_part = q->has_part,
                                .pid = q->pid,
                                .thread = q->thread,
                                .part = q->part,
                                .desc_count = q->desc_count,
                                .desc = (const char *const *)q->desc };
    return 0;
}

static int copy_part(struct quern_profile *p, const struct part *from)
{
    struct part *to = last_part(p);
    int rc = 0;

    to->pid = from->pid;
    to->thread = from->thread;
    to->part = from->part;
    to->has_pid = from->has_pid;
    to->has_thread = from->has_thread;
    to->has_part = from->has_part;
    if (from->cmd)
        rc = text_set(&to->cmd, from->cmd);
    if (!rc && from->creator)
        rc = text_set(&to->creator, from->creator);
    for (size_t i = 0; !rc && i < from->desc_count; i++)
        rc = parts_add_desc(p, from->desc[i], strlen(from->desc[i]));
    return rc;
}

bool parts_have_description(const struct quern_profile *p)
{
    return p->part[0].cmd || p->part[0].desc_count;
}

int parts_copy_header(struct quern_profile *p, const struct quern_profile *from, int part)
{
    int rc = 0;

    for (size_t i = 0; !rc && i < from->event_count; i++) {
        const struct event *e = &from->event[i];
        int n = events_add(p, e->name, strlen(e->name));
        if (n < 0)
            return n;
        p->event[n].scale = e->scale;
        if (e->long_name)
            rc = events_define(p, e->name, NULL, e->long_name);
    }
    for (size_t i = 0; !rc && i < from->derived_count; i++)
        rc = events_define(p, from->derived[i].name, from->derived[i].formula,
                           from->derived[i].long_name);
    if (rc)
        return rc;
    if ((rc = formula_compile(p)) < 0)
        return rc;
    p->format = from->format;
    if (part >= 0)
        return copy_part(p, &from->part[part]);
    for (size_t i = 0; i < from->part_count; i++) {
        if (i && (rc = parts_add(p)) < 0)
            return rc;
        if ((rc = copy_part(p, &from->part[i])) < 0)
            return rc;
    }
    return 0;
}
