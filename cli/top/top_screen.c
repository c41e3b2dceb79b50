// SPDX-License-Identifier: MIT
//
// Curses, and its signals. They are blocked except while waiting for a key: none interrupts curses,
// and none is lost between check and wait.
#include "cli/top/top_screen.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/terminal/colour.h"

enum {
    ESCAPE_MS = 100, // over a slow line an escape sequence may arrive in two pieces
    MANY_COLOURS = 256,
    KEY_CONTROL_L = 12,
    KEY_DELETE = 127,
};

static struct {
    SCREEN *screen;
    sigset_t unblocked;
    struct sigaction old[NSIG];
    attr_t style[STYLE_COUNT];
    bool unicode;
} term;

static volatile sig_atomic_t ending, resized;

static const int watched[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGWINCH };

static void note(int sig)
{
    if (sig == SIGWINCH)
        resized = 1;
    else
        ending = sig;
}

const char *top_screen_refuses(void)
{
    const char *name = getenv("TERM");
    int wrong = 0;

    if (!isatty(STDOUT_FILENO))
        return "standard output is not a terminal; `quern annotate` prints the same numbers";
    if (!isatty(STDIN_FILENO))
        return "standard input is not a terminal: keys are read from it; `quern annotate` prints "
               "the same numbers";
    if (!name || !*name || strcmp(name, "dumb") == 0)
        return "this terminal can only print lines (TERM is not set, or is dumb); `quern annotate` "
               "prints the same numbers";
    bool known = setupterm(name, STDOUT_FILENO, &wrong) == OK, moves = known && cursor_address;
    if (known)
        del_curterm(cur_term);
    if (!moves)
        return "this terminal (TERM) is unknown, or cannot move its cursor; `quern annotate` "
               "prints the same numbers";
    return NULL;
}

static void pair(enum top_screen_style style, short fore, short back, attr_t more)
{
    init_pair((short)style, fore, back);
    term.style[style] = (attr_t)COLOR_PAIR((int)style) | more;
}

// Heat is a scale of lightness below black text, differences are blue and orange; with only eight
// colours, those of tables. Each has its number beside it, and differences their sign.
static void choose_styles(void)
{
    static const short heat[] = { 230, 222, 214, 208 };

    memset(term.style, 0, sizeof(term.style));
    term.style[STYLE_TITLE] = term.style[STYLE_HEAD] = A_BOLD;
    term.style[STYLE_HEAT_4] = A_BOLD;
    if (!colour_wanted(STDOUT_FILENO) || !has_colors() || start_color() != OK)
        return;
    use_default_colors();
    if (COLORS >= MANY_COLOURS) {
        for (int i = 0; i < 4; i++)
            pair(STYLE_HEAT_1 + i, 16, heat[i], 0);
        pair(STYLE_WORSE, 166, -1, 0);
        pair(STYLE_BETTER, 33, -1, 0);
    } else if (COLORS >= 8) {
        pair(STYLE_HEAT_3, COLOR_YELLOW, -1, 0);
        pair(STYLE_HEAT_4, COLOR_YELLOW, -1, A_BOLD);
        pair(STYLE_WORSE, COLOR_RED, -1, 0);
        pair(STYLE_BETTER, COLOR_GREEN, -1, 0);
    }
}

static void watch(void)
{
    struct sigaction sa = { .sa_handler = note };
    sigset_t block;

    sigemptyset(&block);
    for (size_t i = 0; i < sizeof(watched) / sizeof(*watched); i++) {
        sigaddset(&block, watched[i]);
        sigaction(watched[i], NULL, &term.old[watched[i]]);
        // A signal that the caller ignores (nohup) stays ignored.
        if (term.old[watched[i]].sa_handler != SIG_IGN || watched[i] == SIGWINCH)
            sigaction(watched[i], &sa, NULL);
    }
    sigprocmask(SIG_BLOCK, &block, &term.unblocked);
}

// Sequences of keys of terminals that do not follow their terminfo entry.
static void define_keys(void)
{
    static const struct {
        const char *sequence;
        int key;
    } other[] = {
        { "\033[A", KEY_UP },     { "\033[B", KEY_DOWN }, { "\033[C", KEY_RIGHT },
        { "\033[D", KEY_LEFT },   { "\033OA", KEY_UP },   { "\033OB", KEY_DOWN },
        { "\033OC", KEY_RIGHT },  { "\033OD", KEY_LEFT }, { "\033[H", KEY_HOME },
        { "\033[F", KEY_END },    { "\033OH", KEY_HOME }, { "\033OF", KEY_END },
        { "\033[1~", KEY_HOME },  { "\033[4~", KEY_END }, { "\033[5~", KEY_PPAGE },
        { "\033[6~", KEY_NPAGE },
    };

    for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
        if (!key_defined(other[i].sequence))
            define_key(other[i].sequence, other[i].key);
}

bool top_screen_begin(void)
{
    watch();
    setlocale(LC_CTYPE, "");
    term.unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    // Curses does not touch signals that have a handler.
    term.screen = newterm(NULL, stdout, stdin);
    if (!term.screen) {
        top_screen_end();
        return false;
    }
    util_before_message(top_screen_end);
    set_escdelay(ESCAPE_MS);
    choose_styles();
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    define_keys();
    return true;
}

void top_screen_end(void)
{
    util_before_message(NULL);
    if (term.screen) {
        endwin();
        delscreen(term.screen);
        term.screen = NULL;
    }
    for (size_t i = 0; i < sizeof(watched) / sizeof(*watched); i++)
        sigaction(watched[i], &term.old[watched[i]], NULL);
    sigprocmask(SIG_SETMASK, &term.unblocked, NULL);
}

int top_screen_signal(void)
{
    return ending;
}

int top_screen_rows(void)
{
    return LINES;
}

int top_screen_columns(void)
{
    return COLS;
}

bool top_screen_unicode(void)
{
    return term.unicode;
}

void top_screen_clear(void)
{
    erase();
}

void top_screen_put(int row, int column, const char *text, enum top_screen_style style,
                    bool selected)
{
    attr_t attr = term.style[style];

    if (row < 0 || row >= LINES || column < 0 || column >= COLS)
        return;
    // Heat has its own background; a selected row is reversed as a whole.
    if (selected)
        attr = A_REVERSE | (attr & A_BOLD);
    attrset(attr);
    mvaddstr(row, column, text);
    attrset(A_NORMAL);
}

void top_screen_show(int row, int column)
{
    curs_set(column >= 0);
    if (column >= 0)
        move(row, column < COLS ? column : COLS - 1);
    refresh();
}

static uint32_t special(wint_t key)
{
    switch (key) {
    case KEY_UP: return KEY_OF_UP;
    case KEY_DOWN: return KEY_OF_DOWN;
    case KEY_LEFT: return KEY_OF_LEFT;
    case KEY_RIGHT: return KEY_OF_RIGHT;
    case KEY_HOME: return KEY_OF_HOME;
    case KEY_END: return KEY_OF_END;
    case KEY_PPAGE: return KEY_OF_PAGE_UP;
    case KEY_NPAGE: return KEY_OF_PAGE_DOWN;
    case KEY_BACKSPACE: return KEY_OF_BACK;
    case KEY_ENTER: return KEY_OF_ENTER;
    default: return KEY_OF_OTHER;
    }
}

static uint32_t character(wint_t key)
{
    switch (key) {
    case '\r':
    case '\n': return KEY_OF_ENTER;
    case '\b':
    case KEY_DELETE: return KEY_OF_BACK;
    case 27: return KEY_OF_ESCAPE;
    case KEY_CONTROL_L: clearok(curscr, TRUE); return KEY_OF_SIZE;
    default: return key;
    }
}

static void take_size(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
        resizeterm(size.ws_row, size.ws_col);
    // Terminals change their content differently on a new size: draw everything again.
    clearok(curscr, TRUE);
}

// The other end of the terminal is gone: poll() always returns, and there is no input.
static bool hung_up(const struct pollfd *p)
{
    int n = 0;

    return p->revents & (POLLHUP | POLLERR | POLLNVAL) ||
           (p->revents & POLLIN && ioctl(STDIN_FILENO, FIONREAD, &n) == 0 && n == 0);
}

uint32_t top_screen_key(int milliseconds)
{
    struct timespec wait = { milliseconds / 1000, milliseconds % 1000 * 1000000L };

    for (;;) {
        struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
        wint_t key;
        if (ending)
            return KEY_OF_SIGNAL;
        if (resized) {
            resized = 0;
            take_size();
            return KEY_OF_SIZE;
        }
        int kind = get_wch(&key);
        if (kind != ERR)
            return kind == KEY_CODE_YES ? special(key) : character(key);
        int n = ppoll(&p, 1, milliseconds < 0 ? NULL : &wait, &term.unblocked);
        if (n == 0)
            return KEY_OF_NONE;
        if (n < 0 && errno != EINTR)
            ending = SIGHUP;
        if (n > 0 && hung_up(&p) && !ending)
            ending = SIGHUP;
    }
}
