/*
 * A small dealing shoe for the Dragonshoe device protocol, version 1, written from docs/protocol.md and
 * docs/protocol-vectors.json alone.
 *
 * The mechanics are simulated: a deck is a row of kinds, a cycle is a delay, and whoever stands at the table takes
 * every presented stack after 200 ms. The wire is a pseudo-terminal; its path is the first line of the output. The
 * device serves until its standard input is closed or SIGTERM comes.
 *
 *     cc -std=c99 -Wall -Wextra -Werror -O2 -D_XOPEN_SOURCE=600 -o device device.c
 *
 * All memory is static, about 17 kB. The window is 4: it costs two times four messages of memory, and an answer need
 * not wait until the host has acknowledged an event.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum {
    BODY_MAX = 250,    /* bytes of a frame before its CRC */
    CODED_MAX = 255,   /* bytes of a frame before its ending zero */
    MESSAGE_MAX = 224, /* bytes of a message */
    HEADER = 7,        /* bytes before the message in DATA */
    WINDOW = 4,        /* unacknowledged DATA packets in each direction; a power of two */
    QUEUE = 8,         /* answers waiting for room in the window */
    EVENTS = 40,       /* events kept; at least 32 */
    EVENT_MAX = 97,    /* bytes of the longest event of this device: 64 kinds of one byte, and 33 before them */
    ROOM_MIN = 8,      /* room for events below which no cycle starts */
    ANSWERS = 16,      /* answers remembered; at least 16 */
    STACKS = 16,       /* stacks whose cards are remembered; at least 16 */
    NAKS_MAX = 8,
    RESEND_MS = 300,
    HEARTBEAT_MS = 1000,
    SILENCE_MS = 4000,
    UNACKED_MS = 10000,
    TICK_MS = 5,
    DECK = 53,      /* cards that it starts with */
    PACK_MAX = 520, /* cards of the largest pack, of which this shoe need not have room for all */
    SHOWN_MAX = 64, /* cards of a stack whose kinds are reported */
    TAKEN_AFTER_MS = 200,
    CYCLE_MS = 100, /* for every cycle */
    CARD_MS = 5     /* plus this for each card it moves */
};

#define NUMBER_MAX INT64_C(9007199254740991) /* 2^53-1: ids, refs, event numbers */

enum { OPEN = 0x10, OPENED, DATA, ACK, NAK, RESET };
enum { GOODBYE, NO_SUCH_SESSION, OTHER_VERSION, PROTOCOL_ERROR };

enum { HELLO = 1, WELCOME, UNWELCOME, EVENTS_STORED, DONE, REFUSED, NO_ANSWER, IDENTITY, STATUS, COUNTERS, CARD_KINDS };
enum { SHUFFLE = 16, DELIVER, DISPENSE, RELEASE, LOCK, UNLOCK, EJECT, CLEAR_JAM, SELF_TEST, INDICATE, DISPENSE_FACE_UP };
enum { IDENTIFY = 48, ASK_STATUS, ASK_COUNTERS, ASK_CARDS, QUESTION_LAST = 63 };
enum { POWER_UP = 64, CYCLE_DONE = 66, STACK_PRESENTED, STACK_TAKEN, DOOR = 71, CARDS_PRESENT = 74, CARDS_SHOWN };

enum { ROLE_SHOE = 2 };
enum { COUNTS = 1, RECOGNISES, HOLDS_STACK = 5, LOCKS = 6, INDICATES = 7 };
enum { AT_SHOE = 4, AT_EXIT = 5, AT_HELD = 6 };
enum { COMPLETE = 0 };
enum { READY, WORKING, MODE_JAMMED, MODE_FAILED };
enum { DOOR_LOCKED = 2, DOOR_UNLOCKED = 3 };
enum {
    GRANTED = 0, /* no reason to refuse: Done */
    UNKNOWN_COMMAND = 1,
    OTHER_BOOT = 2,
    FORGOTTEN = 3,
    ID_REUSED = 4,
    BAD_ARGUMENT = 16,
    NOT_ABLE = 17,
    BUSY = 18,
    JAMMED = 19,
    FAILED = 20,
    LOCKED = 21,
    DOOR_IS_OPEN = 22,
    NO_CARDS = 23,
    EXIT_OCCUPIED = 24,
    NOTHING_HELD = 25,
    NOT_JAMMED = 26,
    EVENTS_FULL = 27,
    NOT_TAKEN = 29
};

/* The message number of a cycle's command gives the number of the cycle. */
static const uint8_t cycle_of[] = {
    [DISPENSE] = 3,  [RELEASE] = 4,  [EJECT] = 5,           [CLEAR_JAM] = 6,
    [SELF_TEST] = 7, [INDICATE] = 0, [DISPENSE_FACE_UP] = 3};

static uint64_t now;  /* milliseconds since the start */
static uint32_t boot; /* boot id */

static struct {
    uint64_t effects, cycles, cards_moved, stacks, jams, faults, frames_in, frames_bad, resends;
} total;

/* ---------------------------------------------------------------------------------------------- bytes to the wire */

static uint8_t out[4096];
static size_t out_len;

/* A frame that does not fit is dropped completely, as if the wire had lost it. */
static void out_frame(const uint8_t *bytes, size_t n)
{
    if (out_len + n <= sizeof out) {
        memcpy(out + out_len, bytes, n);
        out_len += n;
    }
}

/* ---------------------------------------------------------------------------------------------------------- frame */

static uint32_t crc32(const uint8_t *p, size_t n)
{
    uint32_t crc = 0xFFFFFFFFu;
    while (n--) {
        crc ^= *p++;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1u)));
    }
    return ~crc;
}

/* Body and CRC are at most 254 bytes: the last block never needs an empty one after it. */
static size_t cobs_encode(const uint8_t *in, size_t n, uint8_t *coded)
{
    size_t code_at = 0, len = 1;
    for (size_t i = 0; i < n; i++) {
        if (in[i] != 0) {
            coded[len++] = in[i];
        } else {
            coded[code_at] = (uint8_t)(len - code_at);
            code_at = len++;
        }
    }
    coded[code_at] = (uint8_t)(len - code_at);
    return len;
}

/* In place: writing never overtakes reading. Returns the length, or -1. */
static int cobs_decode(uint8_t *buf, size_t n)
{
    size_t in = 0, len = 0;
    while (in < n) {
        size_t code = buf[in++];
        if (in + code - 1 > n)
            return -1;
        for (size_t k = 1; k < code; k++)
            buf[len++] = buf[in++];
        if (code < 255 && in < n)
            buf[len++] = 0;
    }
    return (int)len;
}

/* `fence`: a zero before the frame, which ends anything that was cut off on the wire. */
static void frame_send(const uint8_t *body, size_t n, bool fence)
{
    uint8_t plain[BODY_MAX + 4], frame[CODED_MAX + 2];
    uint32_t crc = crc32(body, n);
    size_t len = 0;
    memcpy(plain, body, n);
    for (int i = 0; i < 4; i++)
        plain[n + (size_t)i] = (uint8_t)(crc >> (8 * i));
    if (fence)
        frame[len++] = 0;
    len += cobs_encode(plain, n + 4, frame + len);
    frame[len++] = 0;
    out_frame(frame, len);
}

static void packet_in(const uint8_t *p, size_t n);
static void frame_damaged(void);

static void frame_byte(uint8_t byte)
{
    static uint8_t buf[CODED_MAX];
    static size_t n;
    static bool too_long;
    if (byte != 0) {
        if (n < sizeof buf)
            buf[n++] = byte;
        else
            too_long = true;
        return;
    }
    if (n > 0) {
        int len = too_long ? -1 : cobs_decode(buf, n);
        if (len >= 5 && crc32(buf, (size_t)len) == 0x2144DF1Cu) {
            total.frames_in++;
            packet_in(buf, (size_t)len - 4);
        } else {
            total.frames_bad++;
            frame_damaged();
        }
    }
    n = 0;
    too_long = false;
}

/* ---------------------------------------------------------------------------------------------------- MessagePack */

struct writer {
    uint8_t buf[MESSAGE_MAX];
    size_t n;
};

static void put_byte(struct writer *w, unsigned byte)
{
    if (w->n < sizeof w->buf) /* every message of this device fits; this only guards the memory */
        w->buf[w->n++] = (uint8_t)byte;
}

static void put_wide(struct writer *w, unsigned head, uint64_t v, int bytes)
{
    put_byte(w, head);
    while (bytes-- > 0)
        put_byte(w, (unsigned)(v >> (8 * bytes)) & 0xFFu);
}

static void put_uint(struct writer *w, uint64_t v)
{
    if (v < 0x80)
        put_byte(w, (unsigned)v);
    else if (v <= 0xFF)
        put_wide(w, 0xCC, v, 1);
    else if (v <= 0xFFFF)
        put_wide(w, 0xCD, v, 2);
    else if (v <= 0xFFFFFFFFu)
        put_wide(w, 0xCE, v, 4);
    else
        put_wide(w, 0xCF, v, 8);
}

static void put_bool(struct writer *w, bool v)
{
    put_byte(w, v ? 0xC3 : 0xC2);
}

static void put_array(struct writer *w, unsigned n)
{
    if (n < 16)
        put_byte(w, 0x90 | n);
    else
        put_wide(w, 0xDC, n, 2);
}

/* At most 31 bytes: enough for the names of this device. */
static void put_text(struct writer *w, const char *s)
{
    put_byte(w, 0xA0 | (unsigned)strlen(s));
    while (*s)
        put_byte(w, (uint8_t)*s++);
}

/* Begins a message: its array with `fields` elements after the number. */
static void put_message(struct writer *w, unsigned number, unsigned fields)
{
    w->n = 0;
    put_array(w, fields + 1);
    put_uint(w, number);
}

enum kind { BROKEN, INTEGER, BOOLEAN, TEXT, ARRAY, OTHER };

struct item {
    enum kind kind;
    int64_t value;       /* INTEGER, BOOLEAN */
    const uint8_t *text; /* TEXT */
    size_t len;
    uint64_t children; /* elements that follow: ARRAY, and OTHER for maps */
};

struct reader {
    const uint8_t *p, *end;
    uint64_t left; /* elements of the message still to be read */
    bool ok;       /* no field was missing, of another type or out of bounds */
};

static bool take_bytes(struct reader *r, unsigned n, uint64_t *v)
{
    if ((size_t)(r->end - r->p) < n)
        return false;
    for (*v = 0; n > 0; n--)
        *v = *v << 8 | *r->p++;
    return true;
}

/* Reads one item; only the head of an array or map. */
static struct item take_item(struct reader *r)
{
    static const uint8_t width[32] = {/* bytes of number or length after the heads 0xC0 to 0xDF */
                                      0, 0, 0, 0, 1, 2, 4, 1, 2, 4, 4, 8, 1, 2, 4, 8,
                                      1, 2, 4, 8, 0, 0, 0, 0, 0, 1, 2, 4, 2, 4, 2, 4};
    struct item item = {.kind = BROKEN};
    uint64_t head, v = 0, payload = 0;
    if (!take_bytes(r, 1, &head))
        return item;
    if (head < 0x80 || head >= 0xE0) { /* fixint */
        item.kind = INTEGER;
        item.value = head < 0x80 ? (int64_t)head : (int64_t)head - 256;
        return item;
    }
    if (head < 0xC0) { /* fixmap, fixarray, fixstr */
        item.kind = head >= 0xA0 ? TEXT : head >= 0x90 ? ARRAY : OTHER;
        payload = head >= 0xA0 ? head & 31 : 0;
        item.children = head >= 0xA0 ? 0 : head >= 0x90 ? head & 15 : 2 * (head & 15);
    } else {
        if (head == 0xC1 || !take_bytes(r, width[head & 31], &v))
            return item;
        item.kind = OTHER;
        if (head == 0xC2 || head == 0xC3) {
            item.kind = BOOLEAN;
            item.value = head == 0xC3;
        } else if (head >= 0xCC && head <= 0xCF) { /* unsigned; above 2^63-1 it is out of bounds for every field */
            item.kind = v <= INT64_MAX ? INTEGER : OTHER;
            item.value = v <= INT64_MAX ? (int64_t)v : 0;
        } else if (head >= 0xD0 && head <= 0xD3) { /* signed */
            uint64_t sign = UINT64_C(1) << (8 * width[head & 31] - 1);
            item.kind = INTEGER;
            item.value = v & sign ? -(int64_t)(sign - (v & (sign - 1)) - 1) - 1 : (int64_t)v;
        } else if (head >= 0xC4 && head <= 0xC6) { /* binary */
            payload = v;
        } else if (head >= 0xC7 && head <= 0xC9) { /* extension with its type byte */
            payload = v + 1;
        } else if (head >= 0xD4 && head <= 0xD8) { /* extension of 1 to 16 bytes with its type byte */
            payload = (UINT64_C(1) << (head - 0xD4)) + 1;
        } else if (head >= 0xD9 && head <= 0xDB) {
            item.kind = TEXT;
            payload = v;
        } else if (head >= 0xDC) {
            item.kind = head <= 0xDD ? ARRAY : OTHER;
            item.children = head <= 0xDD ? v : 2 * v;
        }
    }
    if (payload > (uint64_t)(r->end - r->p) || item.children > (uint64_t)(r->end - r->p)) {
        item.kind = BROKEN; /* each child has at least one byte */
        return item;
    }
    item.text = r->p;
    item.len = (size_t)payload;
    r->p += payload;
    return item;
}

/* True if the bytes are exactly one MessagePack item, of any depth, with nothing after it. */
static bool well_formed(const uint8_t *p, size_t n)
{
    struct reader r = {.p = p, .end = p + n};
    for (uint64_t due = 1; due > 0; due--) {
        struct item item = take_item(&r);
        if (item.kind == BROKEN)
            return false;
        due += item.children; /* no overflow: children are never more than bytes */
    }
    return r.p == r.end;
}

/* Counts the characters of a UTF-8 text, or returns -1. */
static int utf8_length(const uint8_t *p, size_t n)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    int count = 0;
    for (size_t i = 0; i < n; count++) {
        uint8_t b = p[i++];
        unsigned more = b < 0x80 ? 0 : b < 0xE0 ? 1 : b < 0xF0 ? 2 : 3;
        if ((b >= 0x80 && b < 0xC2) || b > 0xF4 || more > n - i)
            return -1;
        uint32_t c = more == 0 ? b : b & (0x3Fu >> more);
        for (unsigned k = 0; k < more; k++, i++) {
            if ((p[i] & 0xC0) != 0x80)
                return -1;
            c = c << 6 | (p[i] & 0x3Fu);
        }
        if (c < least[more] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
            return -1;
    }
    return count;
}

static struct item take_field(struct reader *r, enum kind kind)
{
    struct item item = {.kind = BROKEN};
    if (r->ok && r->left > 0) {
        r->left--;
        item = take_item(r);
    }
    r->ok = r->ok && item.kind == kind;
    return item;
}

static int64_t take_int(struct reader *r, int64_t least, int64_t most)
{
    struct item item = take_field(r, INTEGER);
    r->ok = r->ok && item.value >= least && item.value <= most;
    return r->ok ? item.value : 0;
}

static bool take_bool(struct reader *r)
{
    return take_field(r, BOOLEAN).value == 1;
}

static void take_text(struct reader *r, int most)
{
    struct item item = take_field(r, TEXT);
    int count = r->ok ? utf8_length(item.text, item.len) : -1;
    r->ok = count >= 0 && count <= most;
}

/* ----------------------------------------------------------------------------------------------------------- link */

struct message {
    uint8_t len; /* 0: none */
    uint8_t bytes[MESSAGE_MAX];
};

static struct {
    bool open;
    uint16_t session;
    uint32_t host_boot;
    uint16_t window;       /* min of both sides */
    uint16_t next, oldest; /* sent DATA: next number, oldest unacknowledged */
    struct message sent[WINDOW];
    uint64_t first_ms[WINDOW], last_ms[WINDOW];
    uint16_t expected;
    struct message held[WINDOW];
    int naks; /* since `expected` last grew */
    bool ack_due;
    uint64_t heard_ms, spoke_ms;
    bool greeted;        /* used by the session: true after Welcome */
    uint64_t next_event; /* number of the next event to be sent in this session; 0 before the first Welcome */
} line;

static struct message queue[QUEUE];
static unsigned queue_first, queue_len;

static void message_in(const uint8_t *p, size_t n);
static bool event_get(uint64_t number, struct message *m);

static size_t put16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    return 2;
}

static size_t put32(uint8_t *p, uint32_t v)
{
    return put16(p, (uint16_t)v) + put16(p + 2, (uint16_t)(v >> 16));
}

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const uint8_t *p)
{
    return get16(p) | (uint32_t)get16(p + 2) << 16;
}

static void reset_send(uint16_t session, uint8_t reason)
{
    uint8_t p[8] = {RESET};
    put16(p + 1, session);
    put32(p + 3, boot);
    p[7] = reason;
    frame_send(p, sizeof p, true);
}

static void opened_send(bool again)
{
    uint8_t p[9] = {OPENED};
    put16(p + 1, line.session);
    put32(p + 3, boot);
    p[7] = WINDOW;
    p[8] = 0;
    frame_send(p, sizeof p, again);
    line.spoke_ms = now;
}

/* DATA with the message of this number, or ACK or NAK with the next number. All three acknowledge. */
static void numbered_send(uint8_t type, uint16_t seq, bool again)
{
    uint8_t p[HEADER + MESSAGE_MAX] = {type};
    size_t n = HEADER;
    put16(p + 1, line.session);
    put16(p + 3, seq);
    put16(p + 5, line.expected);
    if (type == DATA) {
        const struct message *m = &line.sent[seq % WINDOW];
        memcpy(p + n, m->bytes, m->len);
        n += m->len;
        line.last_ms[seq % WINDOW] = now;
    }
    if (again)
        total.resends++;
    frame_send(p, n, again);
    line.ack_due = false;
    line.spoke_ms = now;
}

static void nak_send(void)
{
    if (line.naks < NAKS_MAX) {
        line.naks++;
        numbered_send(NAK, line.next, false);
    }
}

static bool any_held(void)
{
    for (int i = 0; i < WINDOW; i++)
        if (line.held[i].len > 0)
            return true;
    return false;
}

static void frame_damaged(void)
{
    if (line.open)
        nak_send();
}

static void link_close(void)
{
    memset(&line, 0, sizeof line);
    queue_len = 0;
}

/* Sends what is waiting, as far as the window allows: answers first, then stored events. */
static void link_pump(void)
{
    while (line.open && (uint16_t)(line.next - line.oldest) < line.window) {
        struct message *m = &line.sent[line.next % WINDOW];
        if (queue_len > 0) {
            *m = queue[queue_first];
            queue_first = (queue_first + 1) % QUEUE;
            queue_len--;
        } else if (line.greeted && event_get(line.next_event, m)) {
            line.next_event++;
        } else {
            return;
        }
        line.first_ms[line.next % WINDOW] = now;
        line.next++;
        numbered_send(DATA, (uint16_t)(line.next - 1), false);
    }
}

/* Queues an answer. There is always room, because DATA is only accepted while there is (see data_in). */
static void answer_send(const struct writer *w)
{
    struct message *m = &queue[(queue_first + queue_len) % QUEUE];
    if (queue_len < QUEUE) {
        m->len = (uint8_t)w->n;
        memcpy(m->bytes, w->buf, w->n);
        queue_len++;
    }
}

static void open_in(const uint8_t *p)
{
    uint16_t session = get16(p + 1);
    uint32_t host_boot = get32(p + 3);
    if (session == 0)
        return;
    if (line.open && line.session == session && line.host_boot == host_boot) {
        line.heard_ms = now;
        opened_send(true);
        return;
    }
    link_close();
    line.open = true;
    line.session = session;
    line.host_boot = host_boot;
    line.window = p[7] == 0 ? 1 : p[7] < WINDOW ? p[7] : WINDOW;
    line.heard_ms = now;
    opened_send(false);
}

static void data_in(uint16_t seq, const uint8_t *message, size_t n)
{
    uint16_t early = (uint16_t)(seq - line.expected);
    if (early > 32768) { /* a duplicate */
        numbered_send(ACK, line.next, false);
        return;
    }
    if (early > 0) {
        bool first = !any_held();
        struct message *m = &line.held[seq % WINDOW];
        if (early < WINDOW) {
            m->len = (uint8_t)n;
            memcpy(m->bytes, message, n);
        }
        if (first)
            nak_send();
        return;
    }
    if (QUEUE - queue_len < WINDOW)
        return; /* there might be no room for its answer and those of the held packets: the host will resend it */
    line.expected++;
    line.naks = 0;
    line.ack_due = true;
    message_in(message, n);
    for (struct message *m; (m = &line.held[line.expected % WINDOW])->len > 0;) {
        line.expected++;
        message_in(m->bytes, m->len);
        m->len = 0;
    }
    link_pump();
    if (any_held())
        nak_send();
}

static void numbered_in(uint8_t type, uint16_t seq, uint16_t ack, const uint8_t *message, size_t n)
{
    line.heard_ms = now;
    if ((uint16_t)(ack - line.oldest) <= (uint16_t)(line.next - line.oldest)) {
        line.oldest = ack;
        if (type == NAK && line.oldest != line.next)
            numbered_send(DATA, line.oldest, true);
    }
    link_pump();
    if (type == DATA)
        data_in(seq, message, n);
    else if (seq != line.expected && (uint16_t)(seq - line.expected) <= 32767 && !any_held())
        nak_send();
}

static void packet_in(const uint8_t *p, size_t n)
{
    uint8_t type = p[0];
    uint16_t session = n >= 3 ? get16(p + 1) : 0;
    if ((type & 0x0F) == 0 && type != OPEN) {
        if (session != 0) /* a RESET with session 0 would end whatever session the host is in */
            reset_send(session, OTHER_VERSION);
    } else if (type == OPEN && n >= 9) {
        open_in(p);
    } else if (type == DATA ? n > HEADER && n <= HEADER + MESSAGE_MAX : (type == ACK || type == NAK) && n >= HEADER) {
        if (line.open && session == line.session)
            numbered_in(type, get16(p + 3), get16(p + 5), p + HEADER, n - HEADER);
        else if (session != 0)
            reset_send(session, NO_SUCH_SESSION);
    } else if (type == RESET && n >= 8 && line.open && session == line.session) {
        link_close();
    }
}

static void link_tick(void)
{
    if (!line.open)
        return;
    unsigned at = line.oldest % WINDOW;
    bool waiting = line.oldest != line.next;
    if (now - line.heard_ms > SILENCE_MS || (waiting && now - line.first_ms[at] > UNACKED_MS)) {
        link_close();
        return;
    }
    if (waiting && now - line.last_ms[at] > RESEND_MS) /* the next one too, as soon as it is the oldest */
        numbered_send(DATA, line.oldest, true);
    link_pump();
    if (line.ack_due || now - line.spoke_ms >= HEARTBEAT_MS)
        numbered_send(ACK, line.next, false);
}

/* --------------------------------------------------------------------------------------------------------- events */

static struct {
    uint8_t len, bytes[EVENT_MAX];
} events[EVENTS];
static uint64_t event_first = 1, event_newest = 0; /* numbers of the events kept; none if first is newest + 1 */

static unsigned event_room(void)
{
    return (unsigned)(EVENTS - (event_newest + 1 - event_first));
}

static bool event_get(uint64_t number, struct message *m)
{
    if (number < event_first || number > event_newest)
        return false;
    m->len = events[number % EVENTS].len;
    memcpy(m->bytes, events[number % EVENTS].bytes, m->len);
    return true;
}

static void event_begin(struct writer *w, unsigned type, unsigned fields)
{
    put_message(w, type, 2 + fields);
    put_uint(w, event_newest + 1);
    put_uint(w, now);
}

/* No cycle starts with room for fewer than 8 events, and none causes more than 4: there is always room. */
static void event_end(const struct writer *w)
{
    if (event_room() == 0 || w->n > EVENT_MAX)
        return;
    event_newest++;
    events[event_newest % EVENTS].len = (uint8_t)w->n;
    memcpy(events[event_newest % EVENTS].bytes, w->buf, w->n);
}

static void events_forget(uint64_t up_to)
{
    if (up_to > event_newest)
        up_to = event_newest;
    if (up_to >= event_first)
        event_first = up_to + 1;
    if (line.next_event != 0 && line.next_event < event_first)
        line.next_event = event_first;
}

static void event_door(unsigned state)
{
    struct writer w;
    if (event_room() < ROOM_MIN)
        return;
    event_begin(&w, DOOR, 1);
    put_uint(&w, state);
    event_end(&w);
}

static void event_stack(unsigned type, uint64_t command, unsigned place, unsigned cards)
{
    struct writer w;
    event_begin(&w, type, 3);
    put_uint(&w, command);
    put_uint(&w, place);
    put_uint(&w, cards);
    event_end(&w);
}

static uint8_t kind_of(unsigned card);

/* Which cards come out face up, in the order in which they come: cards of the row from `first` on. */
static void event_shown(uint64_t command, unsigned first, unsigned cards)
{
    struct writer w;
    event_begin(&w, CARDS_SHOWN, 3);
    put_uint(&w, command);
    put_uint(&w, AT_EXIT);
    put_array(&w, cards);
    for (unsigned card = 0; card < cards; card++)
        put_uint(&w, kind_of(first + card));
    event_end(&w);
}

/* ------------------------------------------------------------------------------------------------------ mechanics */

struct command {
    uint8_t number;
    uint64_t id;
    int cards;
    bool hold;
};

static struct {
    bool working;
    struct command doing;
    unsigned moving; /* cards that the cycle moves to the exit or HELD */
    uint64_t started_ms, ends_ms;
    unsigned shoe, held, exit;
    unsigned left;                   /* cards that have left the shoe: the number of the next one in the row */
    unsigned held_first, exit_first; /* the number of the first card of the stack there */
    bool exit_dealt;                 /* it came from Dispense or Release */
    uint64_t held_command;           /* which command holds the stack inside */
    uint64_t exit_command, exit_ms; /* which command presented the stack at the exit, and when */
    uint64_t last_cycle;
    unsigned last_outcome;
    bool locked;
    bool jammed, failed, door_open; /* sensors that this simulation never sets */
} shoe = {.shoe = DECK};

/* The stacks that people took: which cards they are is revealed only when the host asks. */
static struct {
    uint64_t id;
    unsigned first, cards; /* no cards: nothing remembered here */
} stacks[STACKS];
static unsigned stack_next;

/* What the sensor read on a card, by its number in the row. */
static uint8_t kind_of(unsigned card)
{
    static const uint8_t copies[] = {3, 3, 1, 7, 8, 9, 10, 12};
    uint8_t kind = 0;
    for (card = card * 20 % DECK; card >= copies[kind]; kind++)
        card -= copies[kind];
    return kind;
}

static bool deals(uint8_t number)
{
    return number == DISPENSE || number == DISPENSE_FACE_UP;
}

static bool starts_cycle(uint8_t number)
{
    return number != LOCK && number != UNLOCK && number != INDICATE;
}

/* The reason to refuse the command, in the order of the protocol, or GRANTED. */
static uint8_t hindrance(const struct command *c)
{
    uint8_t own = GRANTED;
    int most;
    if (c->number == SHUFFLE || c->number == DELIVER)
        return NOT_ABLE;
    if (!starts_cycle(c->number))
        return GRANTED;
    if (shoe.failed)
        return FAILED;
    if (shoe.jammed && c->number != CLEAR_JAM)
        return JAMMED;
    if (shoe.working)
        return BUSY;
    if (shoe.locked)
        return LOCKED;
    if (shoe.door_open)
        return DOOR_IS_OPEN;
    switch (c->number) {
    case DISPENSE_FACE_UP:
    case DISPENSE:
        most = c->number == DISPENSE ? PACK_MAX : SHOWN_MAX;
        own = c->cards < 1 || c->cards > most             ? BAD_ARGUMENT
              : (unsigned)c->cards > shoe.shoe            ? NO_CARDS
              : (c->hold ? shoe.held : shoe.exit) > 0     ? EXIT_OCCUPIED
                                                          : GRANTED;
        break;
    case RELEASE:
        own = shoe.held == 0 ? NOTHING_HELD : shoe.exit > 0 ? EXIT_OCCUPIED : GRANTED;
        break;
    case EJECT:
        own = shoe.shoe + shoe.held == 0 ? NO_CARDS : shoe.exit > 0 ? EXIT_OCCUPIED : GRANTED;
        break;
    case CLEAR_JAM:
        own = shoe.jammed ? GRANTED : NOT_JAMMED;
        break;
    default:
        break;
    }
    return own != GRANTED ? own : event_room() < ROOM_MIN ? EVENTS_FULL : GRANTED;
}

static void act(const struct command *c)
{
    total.effects++;
    if (c->number == LOCK || c->number == UNLOCK) {
        shoe.locked = c->number == LOCK;
        event_door(shoe.locked ? DOOR_LOCKED : DOOR_UNLOCKED);
    } else if (starts_cycle(c->number)) {
        shoe.working = true;
        shoe.doing = *c;
        shoe.moving = deals(c->number)       ? (unsigned)c->cards
                      : c->number == RELEASE ? shoe.held
                      : c->number == EJECT   ? shoe.shoe + shoe.held
                                             : 0;
        shoe.started_ms = now;
        shoe.ends_ms = now + CYCLE_MS + CARD_MS * shoe.moving;
    } /* Indicate: this shoe's light and text line are imaginary */
}

static void cycle_end(void)
{
    struct writer w;
    bool hold = shoe.doing.number == DISPENSE && shoe.doing.hold;
    unsigned first = shoe.left;
    if (deals(shoe.doing.number)) {
        shoe.shoe -= shoe.moving;
        shoe.left += shoe.moving;
        total.cards_moved += shoe.moving;
    } else if (shoe.doing.number == RELEASE) {
        first = shoe.held_first;
        shoe.held = 0;
    } else if (shoe.doing.number == EJECT) {
        shoe.shoe = shoe.held = 0;
    } else if (shoe.doing.number == CLEAR_JAM) {
        shoe.jammed = false;
    }
    if (hold) {
        shoe.held = shoe.moving;
        shoe.held_first = first;
        shoe.held_command = shoe.doing.id;
    } else if (shoe.moving > 0) {
        shoe.exit = shoe.moving;
        shoe.exit_first = first;
        shoe.exit_dealt = shoe.doing.number != EJECT;
        shoe.exit_command = shoe.doing.id;
        shoe.exit_ms = now;
    }
    if (shoe.moving > 0) {
        total.stacks += !hold;
        if (shoe.doing.number == DISPENSE_FACE_UP)
            event_shown(shoe.doing.id, first, shoe.moving);
        event_stack(STACK_PRESENTED, shoe.doing.id, hold ? AT_HELD : AT_EXIT, shoe.moving);
    }
    event_begin(&w, CYCLE_DONE, 5);
    put_uint(&w, shoe.doing.id);
    put_uint(&w, cycle_of[shoe.doing.number]);
    put_uint(&w, COMPLETE);
    put_uint(&w, shoe.moving);
    put_uint(&w, now - shoe.started_ms);
    event_end(&w);
    total.cycles++;
    shoe.last_cycle = shoe.doing.id;
    shoe.last_outcome = COMPLETE;
    shoe.working = false;
}

static void mechanics_tick(void)
{
    if (shoe.working && now >= shoe.ends_ms)
        cycle_end();
    if (shoe.exit > 0 && now - shoe.exit_ms >= TAKEN_AFTER_MS) {
        event_stack(STACK_TAKEN, shoe.exit_command, AT_EXIT, shoe.exit);
        if (shoe.exit_dealt) {
            stacks[stack_next].id = shoe.exit_command;
            stacks[stack_next].first = shoe.exit_first;
            stacks[stack_next].cards = shoe.exit;
            stack_next = (stack_next + 1) % STACKS;
        }
        shoe.exit = 0;
    }
}

static void mechanics_start(void)
{
    struct writer w;
    event_begin(&w, POWER_UP, 2);
    put_uint(&w, 0);
    put_bool(&w, false);
    event_end(&w);
    event_begin(&w, CARDS_PRESENT, 2);
    put_uint(&w, AT_SHOE);
    put_bool(&w, true);
    event_end(&w);
}

/* -------------------------------------------------------------------------------------------------------- session */

static struct {
    uint64_t id;
    uint8_t reason; /* GRANTED: Done */
    uint8_t len;    /* 0: nothing remembered here */
    uint8_t bytes[MESSAGE_MAX];
} answers[ANSWERS];
static unsigned answer_next;
static uint64_t last_command;

static void put_identity(struct writer *w)
{
    static const uint8_t capabilities[] = {COUNTS, RECOGNISES, HOLDS_STACK, LOCKS, INDICATES};
    put_uint(w, ROLE_SHOE);
    put_text(w, "Dragonshoe");
    put_text(w, "C Shoe");
    put_text(w, "CE-0001");
    put_text(w, "c-1.0");
    put_wide(w, 0xC4, 0, 1); /* no digest */
    put_array(w, sizeof capabilities);
    for (size_t i = 0; i < sizeof capabilities; i++)
        put_uint(w, capabilities[i]);
}

/* For each cycle, in the order of their numbers; 0 for those that a shoe does not have. */
static const uint32_t longest_ms[] = {0, 0, 2000, 2000, 2000, 2000, 2000};

static void hello_in(struct reader *r)
{
    struct writer w;
    int64_t version_min = take_int(r, 0, 255);
    int64_t version_max = take_int(r, 0, 255);
    int64_t events_boot = r->left > 0 ? take_int(r, 0, UINT32_MAX) : 0;
    int64_t stored = r->left > 0 ? take_int(r, 0, NUMBER_MAX) : 0;
    if (r->left > 0)
        take_text(r, 24);
    if (!r->ok)
        return;
    bool known = events_boot == (int64_t)boot;
    if (version_min > 1 || version_max < 1 || (known && (uint64_t)stored > event_newest)) {
        line.greeted = false;
        put_message(&w, UNWELCOME, 2);
        put_uint(&w, 1);
        put_uint(&w, 1);
        answer_send(&w);
        return;
    }
    if (known)
        events_forget((uint64_t)stored);
    put_message(&w, WELCOME, 12);
    put_uint(&w, 1);
    put_uint(&w, boot);
    put_identity(&w);
    put_uint(&w, event_first);
    put_uint(&w, last_command);
    put_array(&w, sizeof longest_ms / sizeof *longest_ms);
    for (size_t i = 0; i < sizeof longest_ms / sizeof *longest_ms; i++)
        put_uint(&w, longest_ms[i]);
    answer_send(&w);
    line.greeted = true;
    if (line.next_event == 0)
        line.next_event = event_first;
}

static void answer(uint64_t id, uint8_t reason)
{
    struct writer w;
    put_message(&w, reason == GRANTED ? DONE : REFUSED, reason == GRANTED ? 1 : 2);
    put_uint(&w, id);
    if (reason != GRANTED)
        put_uint(&w, reason);
    answer_send(&w);
}

/* Fields after the id; false if they cannot be read. */
static bool command_read(struct reader *r, struct command *c, int64_t *meant_for)
{
    *meant_for = take_int(r, 0, UINT32_MAX);
    if (deals(c->number)) {
        c->cards = (int)take_int(r, -1, UINT16_MAX);
        c->hold = c->number == DISPENSE && r->left > 0 && take_bool(r);
    } else if (c->number == INDICATE) {
        take_int(r, 0, 3);
        if (r->left > 0)
            take_text(r, 64);
        if (r->left > 0)
            take_int(r, 0, 2);
    }
    return r->ok;
}

static void command_in(uint8_t number, struct reader *r, const uint8_t *p, size_t n)
{
    struct command c = {.number = number};
    int64_t meant_for;
    c.id = (uint64_t)take_int(r, 0, NUMBER_MAX);
    if (!r->ok)
        return; /* without an id there is nothing to answer */
    if (number > DISPENSE_FACE_UP) {
        answer(c.id, UNKNOWN_COMMAND);
        return;
    }
    if (!command_read(r, &c, &meant_for)) {
        answer(c.id, BAD_ARGUMENT);
        return;
    }
    if (meant_for != (int64_t)boot) {
        answer(c.id, OTHER_BOOT);
        return;
    }
    for (unsigned i = 0; i < ANSWERS; i++) {
        if (answers[i].len > 0 && answers[i].id == c.id) {
            bool same = answers[i].len == n && memcmp(answers[i].bytes, p, n) == 0;
            answer(c.id, same ? answers[i].reason : ID_REUSED);
            return;
        }
    }
    if (c.id <= last_command) {
        answer(c.id, FORGOTTEN);
        return;
    }
    uint8_t reason = hindrance(&c);
    answers[answer_next].id = last_command = c.id;
    answers[answer_next].reason = reason;
    answers[answer_next].len = (uint8_t)n;
    memcpy(answers[answer_next].bytes, p, n);
    answer_next = (answer_next + 1) % ANSWERS;
    answer(c.id, reason);
    if (reason == GRANTED)
        act(&c);
}

static void put_status(struct writer *w)
{
    put_uint(w, shoe.failed ? MODE_FAILED : shoe.jammed ? MODE_JAMMED : shoe.working ? WORKING : READY);
    put_uint(w, shoe.working ? shoe.doing.id : 0);
    put_uint(w, last_command);
    put_uint(w, shoe.last_cycle);
    put_uint(w, shoe.last_outcome);
    put_uint(w, 0); /* no infeed */
    put_uint(w, shoe.shoe);
    put_uint(w, 0); /* no output */
    put_uint(w, shoe.exit);
    put_uint(w, shoe.held);
    put_bool(w, shoe.door_open);
    put_bool(w, shoe.locked);
    put_uint(w, event_newest + 1 - event_first);
    put_uint(w, now);
}

static void put_counters(struct writer *w)
{
    const uint64_t values[] = {now,         total.effects, total.cycles,    total.cards_moved, total.stacks,
                               total.jams,  total.faults,  total.frames_in, total.frames_bad,  total.resends};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        put_uint(w, values[i]);
}

/* Whether this command deals a stack that nobody has taken yet. */
static bool not_taken(uint64_t id)
{
    if (shoe.working && shoe.doing.id == id)
        return deals(shoe.doing.number) || shoe.doing.number == RELEASE;
    return (shoe.held > 0 && shoe.held_command == id) || (shoe.exit > 0 && shoe.exit_dealt && shoe.exit_command == id);
}

static void no_answer(uint64_t ref, uint8_t reason)
{
    struct writer w;
    put_message(&w, NO_ANSWER, 2);
    put_uint(&w, ref);
    put_uint(&w, reason);
    answer_send(&w);
}

static void cards_asked(uint64_t ref, struct reader *r)
{
    struct writer w;
    uint64_t id = (uint64_t)take_int(r, 0, INT64_MAX);
    if (!r->ok) {
        no_answer(ref, BAD_ARGUMENT);
        return;
    }
    for (unsigned i = 0; i < STACKS; i++) {
        if (stacks[i].cards == 0 || stacks[i].id != id)
            continue;
        put_message(&w, CARD_KINDS, 3);
        put_uint(&w, ref);
        put_uint(&w, id);
        put_array(&w, stacks[i].cards);
        for (unsigned card = 0; card < stacks[i].cards; card++)
            put_uint(&w, kind_of(stacks[i].first + card));
        answer_send(&w);
        return;
    }
    no_answer(ref, not_taken(id) ? NOT_TAKEN : FORGOTTEN);
}

static void question_in(uint8_t number, struct reader *r)
{
    static const struct {
        uint8_t number, fields;
        void (*put)(struct writer *);
    } replies[] = {{IDENTITY, 8, put_identity}, {STATUS, 15, put_status}, {COUNTERS, 11, put_counters}};
    struct writer w;
    int64_t ref = take_int(r, 0, NUMBER_MAX);
    if (!r->ok)
        return; /* without a ref there is nothing to answer */
    if (number == ASK_CARDS) {
        cards_asked((uint64_t)ref, r);
    } else if (number > ASK_CARDS) {
        no_answer((uint64_t)ref, UNKNOWN_COMMAND);
    } else {
        put_message(&w, replies[number - IDENTIFY].number, replies[number - IDENTIFY].fields);
        put_uint(&w, (uint64_t)ref);
        replies[number - IDENTIFY].put(&w);
        answer_send(&w);
    }
}

static void message_in(const uint8_t *p, size_t n)
{
    struct reader r = {.p = p, .end = p + n, .ok = true};
    if (!well_formed(p, n))
        return;
    struct item top = take_item(&r);
    if (top.kind != ARRAY)
        return;
    r.left = top.children;
    int64_t number = take_int(&r, HELLO, QUESTION_LAST);
    if (!r.ok)
        return;
    if (number == HELLO) {
        hello_in(&r);
    } else if (!line.greeted) {
        return;
    } else if (number == EVENTS_STORED) {
        int64_t stored = take_int(&r, 0, NUMBER_MAX);
        if (r.ok)
            events_forget((uint64_t)stored);
    } else if (number >= IDENTIFY) {
        question_in((uint8_t)number, &r);
    } else if (number >= SHUFFLE) {
        command_in((uint8_t)number, &r, p, n);
    }
}

/* ----------------------------------------------------------------------------------------------------------- host */

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

static uint64_t clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static uint32_t random_boot(void)
{
    uint32_t id = 0;
    int fd = open("/dev/urandom", O_RDONLY);
    if (fd < 0 || read(fd, &id, sizeof id) != (ssize_t)sizeof id)
        id = (uint32_t)time(NULL) ^ (uint32_t)getpid() << 16;
    if (fd >= 0)
        close(fd);
    return id != 0 ? id : 1;
}

/* Opens the pseudo-terminal and returns its master. The slave stays open, so that the master never sees a hang-up. */
static int wire_open(void)
{
    struct termios raw;
    const char *path;
    int slave, master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 || (path = ptsname(master)) == NULL)
        return -1;
    if ((slave = open(path, O_RDWR | O_NOCTTY)) < 0 || tcgetattr(slave, &raw) != 0)
        return -1;
    raw.c_iflag &= ~(tcflag_t)(IGNBRK | BRKINT | PARMRK | ISTRIP | INLCR | IGNCR | ICRNL | IXON);
    raw.c_oflag &= ~(tcflag_t)OPOST;
    raw.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | ISIG | IEXTEN);
    raw.c_cflag = (raw.c_cflag & ~(tcflag_t)(CSIZE | PARENB)) | CS8;
    if (tcsetattr(slave, TCSANOW, &raw) != 0 || fcntl(master, F_SETFL, O_NONBLOCK) != 0)
        return -1;
    printf("%s\n", path);
    fflush(stdout);
    return master;
}

int main(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(SIGTERM, &action, NULL);
    uint64_t start = clock_ms();
    int wire = wire_open();
    if (wire < 0) {
        perror("pseudo-terminal");
        return EXIT_FAILURE;
    }
    boot = random_boot();
    mechanics_start();
    reset_send(0, NO_SUCH_SESSION);
    while (!stopped) {
        uint8_t bytes[512];
        struct pollfd fds[2] = {{.fd = wire, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
        fds[0].events = (short)(out_len > 0 ? POLLIN | POLLOUT : POLLIN);
        if (poll(fds, 2, TICK_MS) < 0 && errno != EINTR)
            break;
        now = clock_ms() - start;
        if (fds[1].revents != 0 && read(STDIN_FILENO, bytes, sizeof bytes) <= 0)
            break;
        ssize_t got = read(wire, bytes, sizeof bytes);
        for (ssize_t i = 0; i < got; i++)
            frame_byte(bytes[i]);
        mechanics_tick();
        link_tick();
        ssize_t put = out_len > 0 ? write(wire, out, out_len) : 0;
        if (put > 0) {
            out_len -= (size_t)put;
            memmove(out, out + put, out_len);
        }
    }
    close(wire);
    return EXIT_SUCCESS;
}
