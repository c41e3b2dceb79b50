// SPDX-License-Identifier: MIT
//
// quern top: a profile in the terminal. Before it reads anything it checks that it has a terminal;
// then it handles one key after another until the end, and restores the terminal.
#include "cli/top/top.h"

#include <signal.h>
#include <stdlib.h>

#include "cli/base/util.h"
#include "cli/cli.h"
#include "cli/top/top_screen.h"
#include "report/core/heap.h"

static void put_away(struct top *t)
{
    top_views_free(t);
    free(t->func);
    free(t->open);
    free(t->hide);
    free(t->undo);
    free(t->back);
    top_data_free(t);
}

int cmd_top(int argc, char **argv)
{
    struct top t;
    const char *why;
    uint32_t key;

    top_options_read(&t, argc, argv);
    if ((why = top_screen_refuses()))
        die(UTIL_USAGE, "%s", why);
    if (t.live)
        top_live_begin(&t, t.side[0].paths[0]);
    top_data_load(&t);
    t.here = (struct top_place){ .view = TOP_FUNCTIONS, .func = CORE_NONE, .file = CORE_NONE };
    t.sort = UINT32_MAX;
    if (!top_screen_begin())
        die(UTIL_USAGE, "this terminal cannot be used; `quern annotate` prints the same numbers");
    top_views_make(&t);
    for (bool draw = true, go = true; go; go = go && !top_screen_signal()) {
        if (draw)
            top_table_draw(&t);
        key = top_screen_key(t.live ? top_live_wait() : -1);
        draw = t.live && top_live_step(&t);
        if (key == KEY_OF_SIGNAL)
            break;
        if (key != KEY_OF_NONE) {
            go = top_keys_press(&t, key);
            draw = true;
        }
    }
    top_screen_end();
    if (t.live)
        top_live_end();
    put_away(&t);
    if (top_screen_signal())
        raise(top_screen_signal());
    return UTIL_OK;
}
