#include "tc_v0.h"

#include <inttypes.h>
#include <string.h>

/* Enumerations of v0, in the order of their values. */
enum { ADD, DEL, MOD };
enum { CLS, PLC, QUEUE, SCH, SHP, PCR };
enum { CLS_RR, CLS_OSI, CLS_STO };
enum { FIFO, CODEL, ECN_CODEL };
enum { SCH_RR, SCH_PRIO };
enum { PCR_DUMMY, PCR_5G_BDP };

typedef struct {
    const uint8_t *bytes;
    size_t length, at;
    fx_error_t *error;
} walk_t;

static bool skip(walk_t *w, size_t bytes, const char *field)
{
    if (w->length - w->at < bytes)
        return fx_fail(w->error, FX_BAD_MESSAGE,
                       "%s begins at byte %zu and takes %zu bytes; the message has %zu bytes", field,
                       w->at, bytes, w->length);
    w->at += bytes;
    return true;
}

static bool u32(walk_t *w, const char *field, uint32_t *value)
{
    if (!skip(w, sizeof *value, field))
        return false;
    memcpy(value, w->bytes + w->at - sizeof *value, sizeof *value);
    return true;
}

/* An enumeration; `names` lists its values in order. */
static bool choice(walk_t *w, const char *field, uint32_t count, const char *names, uint32_t *value)
{
    if (!u32(w, field, value))
        return false;
    if (*value >= count)
        return fx_fail(w->error, FX_BAD_MESSAGE, "%s at byte %zu is %" PRIu32 "; expected %s", field,
                       w->at - sizeof *value, *value, names);
    return true;
}

static bool end(walk_t *w)
{
    if (w->at != w->length)
        return fx_fail(w->error, FX_BAD_MESSAGE,
                       "the message ends at byte %zu; %zu bytes follow", w->at, w->length - w->at);
    return true;
}

static bool classifier(walk_t *w, uint32_t act)
{
    uint32_t type;
    if (!choice(w, "CLS type", 3, "0 (RR), 1 (OSI) or 2 (STO)", &type))
        return false;
    if (type != CLS_OSI)
        return skip(w, 4, "CLS dummy");
    if (act == DEL)
        return skip(w, 4, "CLS filter id");
    if (act == MOD) /* id, padding, addresses, ports, protocol, layer 7, queue, padding */
        return skip(w, 4 + 4 + 16 + 12 + 4 + 4 + 4, "CLS filter");
    return skip(w, 16, "CLS addresses") && skip(w, 12, "CLS ports and protocol") &&
           skip(w, 4, "CLS dst_queue");
}

static bool policer(walk_t *w, uint32_t act)
{
    if (act == MOD)
        return skip(w, 20, "PLC id, drop_kbps, dev_id, dev_kbps, active");
    return skip(w, 4, act == DEL ? "PLC id" : "PLC dummy");
}

static bool queue(walk_t *w, uint32_t act)
{
    uint32_t type;
    if (act != ADD && !skip(w, 4, "QUEUE id"))
        return false;
    if (!choice(w, "QUEUE type", 3, "0 (FIFO), 1 (CODEL) or 2 (ECN_CODEL)", &type))
        return false;
    if (act == DEL)
        return true;
    return type == FIFO ? skip(w, 4, "QUEUE dummy") : skip(w, 8, "QUEUE target_ms, interval_ms");
}

static bool scheduler(walk_t *w, uint32_t act)
{
    uint32_t type, queues;
    if (act != MOD)
        return skip(w, 4, "SCH dummy");
    if (!choice(w, "SCH type", 2, "0 (RR) or 1 (PRIO)", &type))
        return false;
    if (type == SCH_RR)
        return skip(w, 4, "SCH dummy");
    return u32(w, "SCH number of queues", &queues) && skip(w, (size_t)queues * 4, "SCH queues");
}

static bool shaper(walk_t *w, uint32_t act)
{
    if (act == MOD)
        return skip(w, 16, "SHP id, window_ms, max_kbps, active");
    return skip(w, 4, act == DEL ? "SHP id" : "SHP dummy");
}

static bool pacer(walk_t *w, uint32_t act)
{
    uint32_t type;
    if (act != MOD)
        return skip(w, 4, "PCR dummy");
    if (!choice(w, "PCR type", 2, "0 (DUMMY) or 1 (5G_BDP)", &type))
        return false;
    return type == PCR_DUMMY ? skip(w, 4, "PCR dummy") : skip(w, 12, "PCR drb_sz, tstamp");
}

bool fx_tc_v0_check_header(const uint8_t *header, size_t length, fx_error_t *error)
{
    (void)header; /* any u32 will do */
    if (length != 4)
        return fx_fail(error, FX_BAD_MESSAGE, "the control header has %zu bytes; expected 4", length);
    return true;
}

bool fx_tc_v0_check_control(const uint8_t *message, size_t length, fx_error_t *error)
{
    static bool (*const STAGES[])(walk_t *, uint32_t) = {
        [CLS] = classifier, [PLC] = policer, [QUEUE] = queue,
        [SCH] = scheduler,  [SHP] = shaper,  [PCR] = pacer,
    };
    walk_t w = {.bytes = message, .length = length, .error = error};
    uint32_t stage, act;

    if (length > FX_TC_V0_MAX_BYTES)
        return fx_fail(error, FX_BAD_MESSAGE, "the control message has %zu bytes; expected at most %d",
                       length, FX_TC_V0_MAX_BYTES);
    return choice(&w, "ctrl", 6, "0 (CLS), 1 (PLC), 2 (QUEUE), 3 (SCH), 4 (SHP) or 5 (PCR)", &stage) &&
           choice(&w, "act", 3, "0 (ADD), 1 (DEL) or 2 (MOD)", &act) && STAGES[stage](&w, act) &&
           end(&w);
}
