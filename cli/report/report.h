// SPDX-License-Identifier: MIT
//
// State of `quern report`, shared by report.c (the command), report_options.c, report_text.c
// (sources), report_code.c (assembly), report_data.c (objects of the data) and report_html.c (the
// file).
#ifndef QUERN_CLI_REPORT_H
#define QUERN_CLI_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/options/options.h"
#include "cli/profiles/side.h"
#include "quern/profile.h"
#include "report/pack/pack.h"

// ORDER report_source: the words of --source
enum report_source { SOURCE_ALL = 1, SOURCE_COST, SOURCE_NONE };

struct report {
    // Options
    const char *command;
    const char *out, *base, *event_name, *title, *mod_file, *mod_func;
    const char *data, *base_data; // profiles of the data
    struct option_list define;
    bool open, code, series, empty;
    uint32_t source;
    uint64_t max_size;

    struct side side[2]; // the profile, the base
    size_t event;        // functions are sorted by it
    struct pack *pack;
    size_t page_size; // bytes that are not data

    struct block data_block; // report_data.c: JSON, deflated; without bytes: there is none

    // report_text.c
    uint8_t *text_done; // by file of the pack: 0, or enum text_done
    uint32_t *text_new; // files added since the last report_text_settle()
    uint32_t text_new_count;
    uint64_t **text_lines[2]; // --source=cost: a bit for each line with a cost

    // report_code.c
    struct report_object *object;
    size_t object_count;

    // For the messages
    size_t sources, sources_missing, sources_refused, sources_left;
    size_t objects, objects_missing;
    struct option_list missing; // names of sources
};

// report_options.c
void report_options_read(struct report *r, int argc, char **argv);

// report_text.c
void report_text_begin(struct report *r);
// Adds a file of the pack, both versions of it, unless it is there already.
void report_text_add(struct report *r, uint32_t file);
// Keeps (true) or removes what was added since the last call.
void report_text_settle(struct report *r, bool stays);
// For all other files, adds the reason why they are absent.
void report_text_end(struct report *r);

// report_code.c: adds the instructions of functions first to end.
void report_code_add(struct report *r, uint32_t first, uint32_t end);
void report_code_end(struct report *r);

// report_data.c: reads the profile of the data, if there is one, and makes `data_block` of it. The
// pack has its functions.
void report_data(struct report *r);

// report_html.c: is the page built into the program? Not where the tools that make it were missing.
bool report_html_there(void);
size_t report_html_size(void);
void report_html_write(FILE *f, const void *r);
// Is the reader of profiles for the page (--empty) built in, too?
bool report_html_reader(void);

#endif
