#include "sdk.h"

#include <arpa/inet.h>
#include <errno.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "deadline.h"
#include "exchange.h"
#include "installed.h"
#include "joining.h"
#include "kpm.h"
#include "libraries.h"
#include "loop.h"
#include "nodes.h"
#include "signals.h"
#include "tc_v0.h"

/* A RAN function in the list of FlexRIC's calls, for those that are not. */
enum { FX_STAND_IN = FX_TC };

/* Longest period that FlexRIC's agents accept. */
enum { MAX_PERIOD_MS = 10000 };

/* Nodes that take longer are found by a later query. */
enum { MAX_REST_S = 600 };

/* Where FlexRIC installs its service models. */
static const char *const FLEXRIC_LIBRARIES = "/usr/local/lib/flexric";

typedef enum { NEVER_OPENED, OPEN, CLOSED } state_t;

static _Atomic state_t state;
static e2_node_arr_t known; /* as the RIC listed them */
static struct {
    uint32_t id;
    int ran_function;
} handles[FX_RING_HANDLES];
static size_t handle_count;
/* Subscriptions that timed out, the newest: a RIC that acknowledges one later has it. */
static struct {
    uint32_t id; /* 0: none */
    int ran_function;
} abandoned[FX_MAX_LATE];
static size_t next_abandoned;

/* Nodes with definitions as they sent them. FlexRIC's own call decodes them since 2023-12, and
 * aborts the process on a RAN function without a service model. */
static e2_node_arr_t connected_nodes(void)
{
    return generate_e2_node_arr(&fx_xapp->e2_nodes);
}

static bool usable(fx_error_t *error)
{
    if (state != OPEN)
        return fx_fail(error, FX_CLOSED, "the SDK is not open");
    if (fx_exchange_disconnected())
        return fx_fail(error, FX_CLOSED, "the association with the RIC has ended");
    return true;
}

/* Called by FlexRIC every second until it returns true, which it does once the result of the setup is
 * known. */
FX_REPLACES bool connected_e42_xapp(e42_xapp_t *xapp)
{
    struct timespec deadline = fx_after_ms(FX_OPEN_TIMEOUT_MS), now;

    fx_xapp = xapp;
    fx_signals_give_back();
    do {
        const fx_joining_t phase = fx_joining();
        if (xapp->connected || phase == FX_NO_RIC || phase == FX_NO_NODES_YET)
            return true;
        usleep(1000);
        if (phase == FX_CONNECTING || phase == FX_RESTING) /* both end by themselves */
            deadline = fx_after_ms(FX_OPEN_TIMEOUT_MS);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < deadline.tv_sec && !fx_exchange_disconnected());
    return true; /* fx_open() checks the result */
}

static bool can_make_sctp(void)
{
    const int fd = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool check_open(const char *ric_address, const char *configuration, const char *libraries,
                       double blocks_per_s, double rest_s, fx_error_t *error)
{
    struct in_addr address;

    if (state != NEVER_OPENED)
        return fx_fail(error, FX_CLOSED, "FlexRIC connects once in the life of a process");
    if (inet_pton(AF_INET, ric_address, &address) != 1)
        return fx_fail(error, FX_BAD_MESSAGE, "the address of the RIC is \"%s\"; expected IPv4, as 127.0.0.1",
                       ric_address);
    if (configuration[0] != '\0' && !fx_check_configuration(configuration, error))
        return false;
    if (!fx_check_libraries(libraries, error))
        return false;
    if (!(blocks_per_s > 0))
        return fx_fail(error, FX_BAD_MESSAGE, "%g blocks of reports a second; expected more than 0",
                       blocks_per_s);
    if (!(rest_s >= 0 && rest_s <= MAX_REST_S))
        return fx_fail(error, FX_BAD_MESSAGE, "a rest of %g s; expected 0 to %d", rest_s, MAX_REST_S);
    if (!can_make_sctp())
        return fx_fail(error, FX_NO_SCTP, "no SCTP socket can be made: %s", strerror(errno));
    return true;
}

/* Why the setup failed. */
static bool not_opened(const char *ric_address, fx_error_t *error)
{
    if (fx_joining() == FX_NO_RIC)
        return fx_fail(error, FX_ABSENT, "no near-RT RIC accepts an association at %s port 36422",
                       ric_address);
    if (fx_joining() == FX_NO_NODES_YET)
        return fx_fail(error, FX_NO_NODES, "the near-RT RIC at %s has no E2 node yet", ric_address);
    if (fx_joined() && fx_exchange_disconnected())
        return fx_fail(error, FX_CLOSED,
                       "the near-RT RIC at %s ended the association before it answered; one of 2023 ends "
                       "itself when an xApp connects and no E2 node has",
                       ric_address);
    return fx_fail(error, FX_TIMEOUT, "no near-RT RIC answers at %s port 36422 within %d ms", ric_address,
                   FX_OPEN_TIMEOUT_MS);
}

bool fx_open(const char *ric_address, const char *configuration, const char *libraries, int reports,
             double blocks_per_s, double rest_s, bool away, fx_error_t *error)
{
    fr_args_t arguments = {0};

    if (libraries[0] == '\0')
        libraries = FLEXRIC_LIBRARIES;
    if (!check_open(ric_address, configuration, libraries, blocks_per_s, rest_s, error))
        return false;
    if (!fx_ring_open(&fx_reports, FX_REPORT_BYTES) || !fx_loop_report_to(reports, blocks_per_s))
        return fx_fail(error, FX_CLOSED, "no memory for %d bytes of reports", FX_REPORT_BYTES);
    FX_PUT_TEXT(arguments.ip, ric_address);
    FX_PUT_TEXT(arguments.conf_file, configuration);
    snprintf(arguments.libs_dir, sizeof arguments.libs_dir, "%s/", libraries);

    state = CLOSED; /* until it is open */
    fx_joining_begin(rest_s, away);
    fx_signals_keep();
    init_xapp_api(&arguments);
    fx_signals_give_back();

    if (fx_xapp == NULL)
        return fx_fail(error, FX_MISMATCH,
                       "FlexRIC's library was loaded before this module; import this module first");
    /* FlexRIC allocated it: if it is smaller than the headers say, it was built from others. */
    if (malloc_usable_size(fx_xapp) < sizeof *fx_xapp)
        return fx_fail(error, FX_MISMATCH,
                       "FlexRIC's library made an e42_xapp_t of %zu bytes at most; its headers say %zu",
                       malloc_usable_size(fx_xapp), sizeof *fx_xapp);
    if (!fx_xapp->connected)
        return not_opened(ric_address, error);
    known = connected_nodes();
    state = OPEN;
    return true;
}

bool fx_nodes(e2_node_arr_t *nodes, fx_error_t *error)
{
    if (!usable(error))
        return false;
    *nodes = connected_nodes();
    return true;
}

static const e2_node_connected_t *node_with(const char *name, int ran_function, fx_error_t *error)
{
    const e2_node_connected_t *node = fx_find_node(&known, name);
    if (node == NULL) {
        fx_fail(error, FX_NO_SUCH_NODE, "%s", name);
        return NULL;
    }
    if (!fx_has_function(node, ran_function)) {
        fx_fail(error, FX_NO_SUCH_FUNCTION, "%s has no RAN function %d", name, ran_function);
        return NULL;
    }
    return node;
}

/* Whether a request was acknowledged. */
static bool acknowledged(const char *what, const fx_answer_t *answer, fx_error_t *error)
{
    switch (answer->kind) {
    case FX_ACKNOWLEDGED:
        return true;
    case FX_FAILED:
        return fx_fail(error, FX_REFUSED, "%s: %s", what, answer->cause);
    case FX_DISCONNECTED:
        return fx_fail(error, FX_CLOSED, "%s: the association with the RIC has ended", what);
    default:
        return fx_fail(error, FX_TIMEOUT, "%s: no answer within %d ms", what, FX_REQUEST_TIMEOUT_MS);
    }
}

/* The answer to the request that was just sent. */
static bool answered(const char *what, fx_error_t *error)
{
    fx_answer_t answers[FX_MAX_TOGETHER] = {{.kind = FX_UNANSWERED}};
    fx_exchange_await(FX_REQUEST_TIMEOUT_MS, answers);
    return acknowledged(what, &answers[0], error);
}

/* Deletes a subscription and waits for the answer. */
static bool delete_subscription(uint32_t id, int ran_function, fx_error_t *error)
{
    fx_request_t request = {.ran_function = ran_function};

    fx_request = &request;
    rm_report_sm_xapp_api((int)id);
    fx_request = NULL;
    return answered("end of a subscription", error);
}

/* Whether the SDK is `usable`, after the deletion of subscriptions that the RIC acknowledged too late:
 * nobody reads their reports, and the RIC aborts when its xApp ends with some of them. */
static bool tidy(fx_error_t *error)
{
    fx_error_t ignored;

    for (size_t i = 0; i < FX_MAX_LATE && usable(&ignored); ++i) {
        const uint32_t id = abandoned[i].id;
        if (id == 0 || !fx_exchange_acknowledged_late(id))
            continue;
        abandoned[i].id = 0;
        const bool done = delete_subscription(id, abandoned[i].ran_function, &ignored);
        fprintf(stderr, "FlexRIC: subscription %u was acknowledged after its timeout; %s\n", id,
                done ? "deleted" : ignored.detail);
    }
    return usable(error);
}

/* Never called: indication.c takes the reports of our subscriptions. */
static void no_callback(sm_ag_if_rd_t const *report)
{
    (void)report;
}

static uint32_t in_list(int ran_function)
{
    return (uint32_t)(ran_function == FX_TC_V1 ? FX_STAND_IN : ran_function);
}

static void make_subscription(const e2_node_connected_t *node, int ran_function, void *data,
                              fx_request_t *request)
{
    fx_request = request;
    report_sm_xapp_api((global_e2_node_id_t *)&node->id, in_list(ran_function), data, no_callback);
    fx_request = NULL;
}

bool fx_subscribe(const char *name, int ran_function, uint32_t period_ms,
                  const char *const *kpm_names, size_t kpm_count, fx_s_nssai_t slice,
                  const fx_encoded_t *sent, uint32_t *handle, fx_error_t *error)
{
    const bool is_v1 = ran_function == FX_TC_V1;
    const bool encoded = is_v1 || (ran_function == FX_KPM && sent->trigger_bytes > 0);
    fx_request_t request = {.period_ms = period_ms,
                            .ran_function = ran_function,
                            .plain_trigger = ran_function != FX_KPM && !is_v1};

    if (!tidy(error))
        return false;
    const e2_node_connected_t *node = node_with(name, ran_function, error);
    if (node == NULL)
        return false;
    if (ran_function != FX_RLC && ran_function != FX_MAC && ran_function != FX_TC &&
        ran_function != FX_KPM && !is_v1)
        return fx_fail(error, FX_NO_SUCH_FUNCTION,
                       "reports of RAN function %d; expected %d (KPM), %d (MAC), %d (RLC), %d (TC) or "
                       "%d (TC v1)",
                       ran_function, FX_KPM, FX_MAC, FX_RLC, FX_TC, FX_TC_V1);
    if (is_v1 && sent->trigger_bytes == 0)
        return fx_fail(error, FX_BAD_MESSAGE, "E2SM-TC v1: no event trigger");
    if (encoded && sent->trigger_bytes + sent->action_bytes > FX_MAX_CONTROL_BYTES)
        return fx_fail(error, FX_BAD_MESSAGE, "a subscription of %zu bytes; expected at most %d",
                       sent->trigger_bytes + sent->action_bytes, FX_MAX_CONTROL_BYTES);
    if (period_ms < 1 || period_ms > MAX_PERIOD_MS)
        return fx_fail(error, FX_BAD_MESSAGE, "the period is %u ms; expected 1 to %d", period_ms,
                       MAX_PERIOD_MS);
    if (handle_count == FX_RING_HANDLES)
        return fx_fail(error, FX_REFUSED, "there are %d subscriptions, and no more can be numbered",
                       FX_RING_HANDLES);

    if (encoded) {
        request.trigger = sent->trigger;
        request.trigger_bytes = sent->trigger_bytes;
        request.action = sent->action;
        request.action_bytes = sent->action_bytes;
        if (is_v1 && sent->action_bytes == 0)
            request.period_ms = FX_OUTCOMES;
    }
    if (ran_function == FX_KPM && !encoded) {
        kpm_sub_data_t kpm;
        if (!fx_kpm_subscription(kpm_names, kpm_count, period_ms, slice, &kpm, error))
            return false;
        make_subscription(node, ran_function, &kpm, &request);
        fx_kpm_free(&kpm);
    } else {
        make_subscription(node, ran_function, &request, &request); /* requests.c makes the trigger */
    }
    if (!answered("subscription", error)) {
        fx_set_period_ms(request.id, 0);
        if (error->kind == FX_TIMEOUT) {
            abandoned[next_abandoned].id = request.id;
            abandoned[next_abandoned].ran_function = ran_function;
            next_abandoned = (next_abandoned + 1) % FX_MAX_LATE;
        }
        return false;
    }
    handles[handle_count].id = request.id;
    handles[handle_count++].ran_function = ran_function;
    *handle = request.id;
    return true;
}

static void forget(size_t index)
{
    fx_set_period_ms(handles[index].id, 0);
    fx_ring_forget(&fx_reports, handles[index].id);
    handles[index] = handles[--handle_count];
}

bool fx_unsubscribe(uint32_t handle, fx_error_t *error)
{
    size_t index = 0;

    if (!tidy(error))
        return false;
    while (index < handle_count && handles[index].id != handle)
        ++index;
    if (index == handle_count)
        return fx_fail(error, FX_CLOSED, "there is no subscription %u", handle);

    const int ran_function = handles[index].ran_function;
    forget(index);
    return delete_subscription(handle, ran_function, error);
}

/* FlexRIC's agents abort on a v0 control that is too short, and its programs on a long message. */
static bool check_control(int ran_function, const uint8_t *header, size_t header_bytes,
                          const fx_control_t *control, fx_error_t *error)
{
    if (ran_function == FX_TC)
        return fx_tc_v0_check_header(header, header_bytes, error) &&
               fx_tc_v0_check_control(control->message, control->bytes, error);
    if (header_bytes == 0 || control->bytes == 0)
        return fx_fail(error, FX_BAD_MESSAGE, "E2SM-TC v1: an empty control header or message");
    if (header_bytes + control->bytes > FX_MAX_CONTROL_BYTES)
        return fx_fail(error, FX_BAD_MESSAGE, "a control of %zu bytes; expected at most %d",
                       header_bytes + control->bytes, FX_MAX_CONTROL_BYTES);
    return true;
}

static void send_control(const e2_node_connected_t *node, int ran_function, const uint8_t *header,
                         size_t header_bytes, const fx_control_t *control)
{
    fx_request_t request = {.header = header,
                            .header_bytes = header_bytes,
                            .message = control->message,
                            .message_bytes = control->bytes,
                            .ran_function = ran_function,
                            .outcome_reported = ran_function == FX_TC_V1};
    fx_request = &request;
    control_sm_xapp_api((global_e2_node_id_t *)&node->id, in_list(ran_function), &request);
    fx_request = NULL;
}

bool fx_controls(const char *name, int ran_function, const uint8_t *header, size_t header_bytes,
                 const fx_control_t *controls, size_t count, bool *done, uint8_t *outcome,
                 size_t *outcome_bytes, fx_error_t *error)
{
    fx_answer_t answers[FX_MAX_TOGETHER] = {{.kind = FX_UNANSWERED}};

    memset(done, 0, FX_MAX_TOGETHER * sizeof *done);
    *outcome_bytes = 0;
    if (!tidy(error))
        return false;
    const e2_node_connected_t *node = node_with(name, ran_function, error);
    if (node == NULL)
        return false;
    if (ran_function != FX_TC && ran_function != FX_TC_V1)
        return fx_fail(error, FX_NO_SUCH_FUNCTION,
                       "control of RAN function %d; expected %d (TC) or %d (TC v1)", ran_function, FX_TC,
                       FX_TC_V1);
    if (count < 1 || count > FX_MAX_TOGETHER)
        return fx_fail(error, FX_BAD_MESSAGE, "%zu controls at once; expected 1 to %d", count,
                       FX_MAX_TOGETHER);
    for (size_t i = 0; i < count; ++i)
        if (!check_control(ran_function, header, header_bytes, &controls[i], error))
            return false;

    for (size_t i = 0; i < count; ++i)
        send_control(node, ran_function, header, header_bytes, &controls[i]);
    fx_exchange_await(FX_REQUEST_TIMEOUT_MS, answers);
    for (size_t i = 0; i < count; ++i)
        done[i] = answers[i].kind == FX_ACKNOWLEDGED;
    for (size_t i = 0; i < count; ++i)
        if (!acknowledged("control", &answers[i], error))
            return false;
    memcpy(outcome, answers[count - 1].outcome, answers[count - 1].outcome_bytes);
    *outcome_bytes = answers[count - 1].outcome_bytes;
    return true;
}

void fx_close(void)
{
    fx_error_t ignored;

    if (state != OPEN)
        return;
    (void)tidy(&ignored);
    while (handle_count > 0 && usable(&ignored))
        fx_unsubscribe(handles[0].id, &ignored);
    state = CLOSED;
    if (fx_exchange_disconnected())
        return; /* FlexRIC's thread does not end; the process will */
    while (!try_stop_xapp_api())
        usleep(1000);
}
