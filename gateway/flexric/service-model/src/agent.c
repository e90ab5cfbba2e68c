/* The service model in FlexRIC's agent: between the agent's procedures and the node's TC function.
 *
 * The agent calls from its only thread and frees what it is given. It asserts on what it does not
 * expect, so nothing here fails: a refusal is a report or an outcome.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "sm/sm_agent.h"

#include "plugin.h"
#include "sojourn_tc_interface.h"
#include "sojourn_tc_sm.h"

enum {
  /* Subscriptions for outcomes: one for each bridge, and those of bridges that died. */
  MAX_LISTENERS = 16,
  /* Longest period that the agent accepts: a timer that only keeps the subscription. */
  IDLE_MS = 10000,
  /* A refusal is repeated until the RIC ends the subscription. */
  REFUSED_MS = 1000,
  /* The agent is woken for an outcome by the digits of the request's number in a pipe, and reads four
     bytes: a number of five digits leaves one each time, until the pipe is full and the agent's only
     thread blocks for good. Outcomes of such a request wait for its timer. */
  LAST_WAKING_REQUEST = 9999,
  OUTCOME_POLL_MS = 2,
  /* Outcomes that wait for it; the oldest is lost. */
  MAX_OUTCOMES = 256,
};

/* What the agent keeps for us. */
typedef enum { REPORTS, REFUSED, OUTCOMES, OUTCOME } kind_t;

/* Handed to `on_indication`: a subscription at each tick of its timer, or the outcome of a control once.
 */
typedef struct item {
  kind_t kind;
  uint32_t request;
  /* Next OUTCOME that waits for a timer. */
  struct item *next;
  /* Length of the reason of REFUSED, of the outcome of OUTCOME. */
  size_t len;
  uint8_t token[SOJOURN_TC_TOKEN_BYTES];
  uint8_t bytes[];
} item_t;

/* The build ID of the TC service model of the FlexRIC that this one was compiled for: FlexRIC checks no
   versions, and structures differ between its builds. The lab's node reads it. */
__attribute__((used)) static const char made_for[] = "SOJOURN_TC_MADE_FOR=" SOJOURN_TC_MADE_FOR;

/* One agent a process, which FlexRIC's own state demands. Not freed: the agent reads service models
   after it has freed them, when it ends with subscriptions. */
static sm_agent_t agent;
static const sojourn_tc_interface_t *node;
/* Subscriptions for outcomes, and those that wait for its timer, oldest first. */
typedef struct {
  uint32_t request;
  item_t *first;
  size_t waiting;
} listener_t;
static listener_t listeners[MAX_LISTENERS];
static size_t listener_count;

static item_t *make_item(kind_t kind, uint32_t request, const void *bytes, size_t len) {
  item_t *item = malloc(sizeof(*item) + len);
  if (item != NULL) {
    *item = (item_t){.kind = kind, .request = request, .len = len};
    memcpy(item->bytes, bytes, len);
  }
  return item;
}

static item_t *refused(uint32_t request, const void *reason, size_t len) {
  static const char UNSTATED[] = "refused";
  return len > 0 ? make_item(REFUSED, request, reason, len)
                 : make_item(REFUSED, request, UNSTATED, sizeof(UNSTATED) - 1);
}

static item_t *listen(uint32_t request, int64_t *period_ms) {
  static const char FULL[] = "the node has no room for another subscription to outcomes";
  if (listener_count == MAX_LISTENERS) {
    return refused(request, FULL, sizeof(FULL) - 1);
  }
  item_t *item = make_item(OUTCOMES, request, "", 0);
  if (item != NULL) {
    listeners[listener_count++] = (listener_t){.request = request};
    *period_ms = request > LAST_WAKING_REQUEST ? OUTCOME_POLL_MS : IDLE_MS;
  }
  return item;
}

static listener_t *listener_of(uint32_t request) {
  for (size_t i = 0; i < listener_count; ++i) {
    if (listeners[i].request == request) {
      return &listeners[i];
    }
  }
  return NULL;
}

static item_t *take(listener_t *listener) {
  item_t *first = listener->first;
  if (first != NULL) {
    listener->first = first->next;
    --listener->waiting;
  }
  return first;
}

static void keep(listener_t *listener, item_t *outcome) {
  item_t **end = &listener->first;
  while (*end != NULL) {
    end = &(*end)->next;
  }
  *end = outcome;
  if (++listener->waiting > MAX_OUTCOMES) {
    free(take(listener));
    fprintf(stderr, "sojourn: an outcome for E2 request %u is lost: %d wait for its timer\n",
            listener->request, MAX_OUTCOMES);
  }
}

static item_t *subscribe(const sm_subs_data_t *data, int64_t *period_ms) {
  static const char NO_TC[] = "the node has no TC function";
  *period_ms = IDLE_MS;
  if (data->action_def == NULL) {
    return listen(data->ric_req_id, period_ms);
  }
  uint8_t text[SOJOURN_TC_REASON_BYTES];
  sojourn_tc_room_t reason = {.at = text, .capacity = sizeof(text)};
  uint32_t own_ms = 0;
  const sojourn_tc_bytes_t trigger = {.at = data->event_trigger, .len = data->len_et};
  const sojourn_tc_bytes_t action = {.at = data->action_def, .len = data->len_ad};
  if (node != NULL &&
      node->subscribe(node->context, data->ric_req_id, trigger, action, &own_ms, &reason)) {
    *period_ms = own_ms < 1 ? 1 : own_ms > IDLE_MS ? IDLE_MS : own_ms;
    return make_item(REPORTS, data->ric_req_id, "", 0);
  }
  *period_ms = REFUSED_MS;
  return node != NULL ? refused(data->ric_req_id, reason.at, reason.len)
                      : refused(data->ric_req_id, NO_TC, sizeof(NO_TC) - 1);
}

/* The agent's answer to a subscription; 2023 without its kind. */
#if __has_include("sm/agent_if/write/subscription_aperiod.h")
typedef sm_ag_if_ans_subs_t answer_t;
#define TIMER(answer) ((answer).per.t)
#else
typedef subscribe_timer_t answer_t;
#define TIMER(answer) (answer)
#endif

static answer_t on_subscription(sm_agent_t const *sm, sm_subs_data_t const *data) {
  (void)sm;
  answer_t answer = {0}; /* periodic, where there are kinds */
  int64_t period_ms = IDLE_MS;
  item_t *item = subscribe(data, &period_ms);
  TIMER(answer) =
      (subscribe_timer_t){.ms = period_ms, .type = NONE_SUB_DATA_ENUM, .act_def = item};
  return answer;
}

/* The agent forgets a subscription. */
static void free_action(sm_agent_t *sm, void *data) {
  (void)sm;
  item_t *item = data;
  if (item == NULL) {
    return;
  }
  if (item->kind == REPORTS) {
    node->unsubscribe(node->context, item->request);
  }
  listener_t *listener = item->kind == OUTCOMES ? listener_of(item->request) : NULL;
  if (listener != NULL) {
    while (listener->first != NULL) {
      free(take(listener));
    }
    *listener = listeners[--listener_count];
  }
  free(item);
}

static exp_ind_data_t report_of(const void *header, size_t header_len, const void *message,
                                size_t message_len) {
  exp_ind_data_t report = {.has_value = true};
  report.data.ind_hdr = sojourn_tc_copy(header, header_len, &report.data.len_hdr);
  report.data.ind_msg = sojourn_tc_copy(message, message_len, &report.data.len_msg);
  if (report.data.len_hdr == header_len && report.data.len_msg == message_len) {
    return report;
  }
  free(report.data.ind_hdr);
  free(report.data.ind_msg);
  return (exp_ind_data_t){.has_value = false};
}

static exp_ind_data_t next_report(const item_t *item) {
  static uint8_t header_bytes[SOJOURN_TC_HEADER_BYTES], message_bytes[SOJOURN_TC_MESSAGE_BYTES];
  sojourn_tc_room_t header = {.at = header_bytes, .capacity = sizeof(header_bytes)};
  sojourn_tc_room_t message = {.at = message_bytes, .capacity = sizeof(message_bytes)};
  /* FlexRIC does not send empty octet strings, nor does v1 have any. */
  if (!node->report(node->context, item->request, &header, &message) || header.len == 0 ||
      message.len == 0) {
    return (exp_ind_data_t){.has_value = false};
  }
  return report_of(header.at, header.len, message.at, message.len);
}

static exp_ind_data_t on_indication(sm_agent_t const *sm, void *data) {
  (void)sm;
  static const uint8_t REFUSED_HEADER[] = {SOJOURN_TC_REFUSED};
  item_t *item = data;
  exp_ind_data_t report = {.has_value = false};
  if (item == NULL) {
    return report;
  }
  switch (item->kind) {
    case REPORTS: report = next_report(item); break;
    case REFUSED:
      report = report_of(REFUSED_HEADER, sizeof(REFUSED_HEADER), item->bytes, item->len);
      break;
    case OUTCOMES: {
      listener_t *listener = listener_of(item->request);
      item = listener != NULL ? take(listener) : NULL;
      if (item == NULL) {
        break;
      }
    }
      /* fall through */
    case OUTCOME:
      report = report_of(item->token, sizeof(item->token), item->bytes, item->len);
      free(item);
      break;
  }
  return report;
}

/* Queues the outcome for whoever listens. Called within a procedure of the agent's own thread: the agent
   asserts that the subscription is there, and another thread would race with its end. */
static void tell_outcome(uint64_t token, const sojourn_tc_room_t *outcome) {
  for (size_t i = 0; i < listener_count; ++i) {
    const uint32_t request = listeners[i].request;
    item_t *item = make_item(OUTCOME, request, outcome->at, outcome->len);
    if (item == NULL) {
      return;
    }
    for (size_t byte = 0; byte < sizeof(item->token); ++byte) {
      item->token[byte] = (uint8_t)(token >> 8 * (sizeof(item->token) - 1 - byte));
    }
    if (request > LAST_WAKING_REQUEST) {
      keep(&listeners[i], item);
    } else {
      node->async_event(request, item);
    }
  }
}

static sm_ctrl_out_data_t on_control(sm_agent_t const *sm, sm_ctrl_req_data_t const *data) {
  (void)sm;
  static uint8_t bytes[SOJOURN_TC_OUTCOME_BYTES];
  sojourn_tc_room_t outcome = {.at = bytes, .capacity = sizeof(bytes)};
  sm_ctrl_out_data_t answer = {0};
  if (node == NULL) {
    return answer;
  }
  const sojourn_tc_bytes_t header = {.at = data->ctrl_hdr, .len = data->len_hdr};
  const sojourn_tc_bytes_t message = {.at = data->ctrl_msg, .len = data->len_msg};
  node->control(node->context, header, message, &outcome);
  if (outcome.len > 0) {
    tell_outcome(sojourn_tc_token(header.at, header.len, message.at, message.len), &outcome);
    /* E2AP has a place for it, which today's nearRT-RIC does not forward. */
    answer.ctrl_out = sojourn_tc_copy(outcome.at, outcome.len, &answer.len_out);
  }
  return answer;
}

static sm_e2_setup_data_t on_e2_setup(sm_agent_t const *sm) {
  (void)sm;
  static const char NO_TC[] = "E2SM-TC v1: no TC function in this process";
  static uint8_t bytes[SOJOURN_TC_DEFINITION_BYTES];
  sojourn_tc_room_t definition = {.at = bytes, .capacity = sizeof(bytes)};
  sm_e2_setup_data_t setup = {0};
  if (node != NULL && node->definition(node->context, &definition) && definition.len > 0) {
    setup.ran_fun_def = sojourn_tc_copy(definition.at, definition.len, &setup.len_rfd);
  } else {
    setup.ran_fun_def = sojourn_tc_copy(NO_TC, sizeof(NO_TC) - 1, &setup.len_rfd);
  }
  return setup;
}

static sm_ric_service_update_data_t on_ric_service_update(sm_agent_t const *sm) {
  (void)sm;
  return (sm_ric_service_update_data_t){0};
}

static void free_service_model(sm_agent_t *sm) {
  (void)sm;
}

static char const *definition_text(void) {
  return "ORAN-E2SM-TC";
}

static uint16_t id(void) {
  return SOJOURN_TC_ID;
}

static uint16_t revision(void) {
  return SOJOURN_TC_REVISION;
}

static char const *oid(void) {
  return SOJOURN_TC_OID;
}

/* The TC function of this process, if it has one of this version. An xApp loads the agent's side as well, and
   has none. */
static const sojourn_tc_interface_t *find_node(void) {
  const sojourn_tc_interface_t *(*of_node)(void) = NULL;
  /* POSIX lets a function pointer be stored so (dlsym, rationale). */
  *(void **)&of_node = dlsym(RTLD_DEFAULT, "sojourn_tc_interface");
  const sojourn_tc_interface_t *found = of_node != NULL ? of_node() : NULL;
  return found != NULL && found->version == SOJOURN_TC_INTERFACE_VERSION ? found : NULL;
}

SOJOURN_TC_EXPORT sm_agent_t *make_sojourn_tc_sm_agent(sm_io_ag_ran_t io) {
  (void)io; /* its tables have no place for a service model of others */
  node = find_node();
  agent = (sm_agent_t){
      .proc = {.on_subscription = on_subscription,
               .on_indication = on_indication,
               .on_control = on_control,
               .on_e2_setup = on_e2_setup,
               .on_ric_service_update = on_ric_service_update},
      .free_sm = free_service_model,
      .free_act_def = free_action,
      .info = {.def = definition_text, .id = id, .rev = revision, .oid = oid},
  };
  return &agent;
}
