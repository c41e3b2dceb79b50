// SPDX-License-Identifier: MIT
//
// State of `quern top`, and what its files offer each other: each uses only those above it. All
// numbers come from report/core; these files show them.
#ifndef QUERN_CLI_TOP_H
#define QUERN_CLI_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options/options.h"
#include "cli/profiles/event.h"
#include "cli/profiles/objects.h"
#include "cli/profiles/sharing.h"
#include "cli/profiles/side.h"
#include "cli/profiles/walks.h"
#include "report/core/detail.h"
#include "report/core/group.h"
#include "report/core/values.h"
#include "report/pack/pack.h"

enum { TOP_LEAST_ROWS = 20, TOP_LEAST_COLUMNS = 60, TOP_COLUMNS = 8, TOP_PROMPT = 256 };

enum top_view { TOP_FUNCTIONS, TOP_FUNCTION, TOP_SOURCE, TOP_EVENTS, TOP_HELP };

// A view and the position in it; the history is a list of these.
struct top_place {
    enum top_view view;
    uint32_t func, file; // the subject of Function and Source, or CORE_NONE
    uint64_t line;       // Source: begin here, unless it is 0
    size_t at, first;    // the selected row, and the first one on the screen
};

enum top_row_kind {
    ROW_TEXT,  // text in the column of names; no numbers
    ROW_SAYS,  // a sentence across the whole screen
    ROW_FUNC,  // of: function
    ROW_SELF,  // its self cost alone
    ROW_EDGE,  // of: edge; called or calling
    ROW_GROUP, // of: group of the tree
    ROW_EVENT, // of: event
    ROW_LINE,  // of a source; its values are in `value`
    ROW_SITE,  // of: the function called; likewise
};

struct top_row {
    uint8_t kind, depth, heat;
    bool caller;        // edges: the caller is named, not the callee
    uint32_t of;        // by kind
    uint64_t line[2];   // of a source, on both sides; 0: absent. ROW_GROUP: number of functions
    uint32_t value;     // index of its values; CORE_NONE: it has none
    const char *text;   // ROW_TEXT, ROW_SAYS, ROW_LINE
    uint32_t text_size; // of ROW_LINE
};

// The cause of cycles that weighs most, or changed most.
struct top_cause {
    uint8_t which; // 1 to KNOWN_CAUSES; 0: none
    struct value part;
};

// Values of rows that are computed before drawing, by side.
struct top_values {
    struct value cost[2], calls[2];
    struct top_cause cause;
};

struct top_column {
    enum values_of of;
    unsigned side;
    bool share; // shows the share of the total, not the value
    bool cause; // shows the cause of cycles that weighs most
};

// The filters to undo, the last one first.
enum top_undo { UNDO_TEXT = 1, UNDO_FOCUS, UNDO_HIDE };

struct top {
    // Options
    const char *base, *event_name, *mod_file, *mod_func;
    bool live;
    struct side side[2];

    // top_data.c
    struct pack *pack;
    struct core *core;
    struct formula **formula; // by event; NULL: cannot be read
    uint32_t event;
    bool calls, compare; // has the profile calls, is there a base?
    struct known_cycles cycles;
    bool timed; // has it estimated cycles?
    bool data;  // is it of the data? Its functions are objects, which call none, or miss in them
    struct walks walks;
    struct objects objects;
    struct sharing sharing;
    char **shared; // of each pair of it three lines of text, then NULL

    // State of the screen
    struct top_place here, *back;
    size_t backs;
    bool inclusive;        // inclusive costs; of the data: the functions that miss, not the objects
    unsigned sort;         // column, or the number of columns: by name
    bool up;               // ascending
    unsigned shift;        // columns hidden on the left
    int group;             // enum group_by, or -1
    char say[TOP_PROMPT];  // the last line, until the next key
    char find[TOP_PROMPT]; // in sources

    // top_filter.c
    char filter[TOP_PROMPT];
    uint32_t focus, *hide;
    size_t hides;
    uint8_t *undo;
    size_t undos;

    // top_rows.c, top_source.c, top_views.c: made for here.view
    struct top_row *row;
    size_t rows, row_cap;
    struct top_values *value;
    size_t values, value_cap;
    struct top_column column[TOP_COLUMNS];
    unsigned columns;
    struct value whole; // 100 % of the shares
    uint32_t *func;     // the functions that match the filter, sorted
    uint32_t funcs;
    bool func_fresh;
    struct group_tree tree;
    uint8_t *open; // by group
    struct source *text[2];
};

// top_options.c
void top_options_read(struct top *t, int argc, char **argv);

// top_data.c
void top_data_load(struct top *t);
void top_data_free(struct top *t);
// Whether a pair of references to a line that threads share (t->sharing) has to do with the object.
bool top_data_shares(const struct top *t, size_t pair, uint32_t func);
#define TOP_PAIR_LINES 3
// Shows this profile, which has the same events, in place of the one before; takes ownership.
void top_data_again(struct top *t, struct quern_profile *p);
// Ends the process on an error that only a lack of memory, or a bug, can cause.
void top_data_check(int rc);

// top_filter.c: for each function, 1 where it is shown; or NULL: all. To be freed with heap_put().
uint8_t *top_filter_mask(struct top *t);
// Changes the filter. False: not a regular expression; t->say says why.
bool top_filter_set(struct top *t, const char *text);
void top_filter_focus(struct top *t, uint32_t func);
void top_filter_hide(struct top *t, uint32_t func);
// False: no filter is set.
bool top_filter_undo(struct top *t);

// top_help.c: a row of the page of keys, or false.
bool top_help(size_t i, const char **key, const char **text);

// top_cause.c: is the cause of cycles shown? If so, for rows of the core, after
// top_cause_prepare(), and for a line in a source, by its place in `d` on both sides.
bool top_cause_shown(const struct top *t);
void top_cause_prepare(struct top *t, enum values_of of, unsigned side);
struct top_cause top_cause_of(struct top *t, enum values_of of, uint32_t index);
void top_cause_line(struct top *t, const struct detail *d, const size_t row[2],
                    struct top_cause *most);
// "CyMem 68.3%", with a base "CyMem +400"; "" for none. `out` holds a number (top_text.h).
void top_cause_text(const struct top *t, const struct top_cause *c, struct value whole, char *out);

// top_rows.c
struct top_row *top_rows_add(struct top *t, enum top_row_kind kind, uint32_t of);
struct top_row top_rows_get(const struct top *t, size_t i);
void top_rows_free(struct top *t);
// The value of a row on a side. False: it has none in this column.
bool top_rows_value(struct top *t, const struct top_row *r, enum values_of of, unsigned side,
                    struct value *v);
struct value top_rows_total(struct top *t, unsigned side);
struct top_cause top_rows_cause(struct top *t, const struct top_row *r, enum values_of of);
// Of the data: does a function miss, or is it an object?
bool top_rows_misses(const struct top *t, uint32_t func);
// The function of a row, or CORE_NONE.
uint32_t top_rows_func(const struct top *t, const struct top_row *r);
// The name of a group: part of a string of the core, or written to `number`.
struct text top_rows_group(const struct top *t, uint32_t group, char number[16]);
// The title of a column.
void top_rows_title(const struct top *t, const struct top_column *c, char *out, size_t size);

// top_source.c
void top_source_make(struct top *t);
void top_source_free(struct top *t);

// top_views.c
// Makes the rows and columns of t->here.
void top_views_make(struct top *t);
void top_views_free(struct top *t);
// The most expensive caller of a function, or CORE_NONE.
uint32_t top_views_caller(struct top *t, uint32_t func);

// top_table.c: the whole screen.
void top_table_draw(struct top *t);
void top_table_prompt(struct top *t, const char *label, const char *text);
int top_table_page(void); // rows that fit on the screen

// top_keys.c
// Handles a key. False: the user quits.
bool top_keys_press(struct top *t, uint32_t key);

// top_live.c: a running program. `what` is a process id or a spool.
void top_live_begin(struct top *t, const char *what);
// How many milliseconds to wait for a key.
int top_live_wait(void);
// Once a second reads the new counts. True: the screen has to be drawn again.
bool top_live_step(struct top *t);
void top_live_end(void);

#endif
