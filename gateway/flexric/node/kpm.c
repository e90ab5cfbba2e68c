/* KPM: report style 4, a report for each UE, with the measurements that the subscription names. */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "sm/kpm_sm/kpm_sm_id_wrapper.h"
#include "sm/sm_io.h"

#include "node.h"

/* FlexRIC's encoder aborts on a message that is longer than its buffer, which is the smallest in versions
   before 2026. */
#define MESSAGE_BYTES 2048
/* Most of what PER takes for a message, a UE without measurements, and a measurement without its name: its
   record, and its label. */
#define AROUND_BYTES 16
#define UE_BYTES 32
#define MEASUREMENT_BYTES 24

/* Measurements in the order of their definition to the RIC. */
static const char* const measurements[] = {
    "DRB.PdcpSduVolumeDL", "DRB.PdcpSduVolumeUL", "DRB.RlcSduDelayDl",
    "DRB.UEThpDl",         "DRB.UEThpUl",         "RRU.PrbTotDl",
};
#define N_MEASUREMENTS (sizeof(measurements) / sizeof(measurements[0]))

/* Those that 28.552 counts in whole units, and that OAI sends as INTEGER. */
static bool is_count(const byte_array_t* name) {
  static const char* const counts[] = {"DRB.PdcpSduVolume", "RRU.PrbTot"};
  for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); ++i) {
    size_t const len = strlen(counts[i]);
    if (name->len > len && memcmp(name->buf, counts[i], len) == 0) {
      return true;
    }
  }
  return false;
}

static meas_record_lst_t record(size_t ue, const meas_type_t* type) {
  double value = 0;
  if (type->type != NAME_MEAS_TYPE ||
      !node.kpm_value(node.context, ue, type->name.buf, type->name.len, &value)) {
    return (meas_record_lst_t){.value = NO_VALUE_MEAS_VALUE};
  }
  if (is_count(&type->name) && value <= UINT32_MAX) {
    return (meas_record_lst_t){.value = INTEGER_MEAS_VALUE, .int_val = (uint32_t)lround(value)};
  }
  return (meas_record_lst_t){.value = REAL_MEAS_VALUE, .real_val = value};
}

/* The name that was asked for, without a label: FlexRIC's encoder knows few of the labels. */
static meas_info_format_1_lst_t info(const meas_info_format_1_lst_t* asked) {
  meas_info_format_1_lst_t own = {.meas_type = cp_meas_type(&asked->meas_type)};
  own.label_info_lst = calloc(1, sizeof(*own.label_info_lst));
  if (own.label_info_lst != NULL) {
    own.label_info_lst_len = 1;
    own.label_info_lst->noLabel = calloc(1, sizeof(enum_value_e));
  }
  return own;
}

static kpm_ind_msg_format_1_t measure(size_t ue, const kpm_act_def_format_1_t* wanted) {
  size_t const n = wanted->meas_info_lst_len;
  kpm_ind_msg_format_1_t msg = {
      .meas_data_lst_len = 1,
      .meas_data_lst = calloc(1, sizeof(meas_data_lst_t)),
      .meas_info_lst_len = n,
      .meas_info_lst = calloc(n, sizeof(meas_info_format_1_lst_t)),
  };
  msg.meas_data_lst->meas_record_len = n;
  msg.meas_data_lst->meas_record_lst = calloc(n, sizeof(meas_record_lst_t));
  for (size_t i = 0; i < n; ++i) {
    msg.meas_info_lst[i] = info(&wanted->meas_info_lst[i]);
    msg.meas_data_lst->meas_record_lst[i] = record(ue, &wanted->meas_info_lst[i].meas_type);
  }
  return msg;
}

/* OAI sends the wall clock in µs, of which KPM v2 has room for 32 bits. */
static uint64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* This node has no AMF: the UE's C-RNTI stands for the id the AMF would give it. */
static ue_id_e2sm_t ue_id(uint32_t rnti) {
  return (ue_id_e2sm_t){
      .type = GNB_UE_ID_E2SM,
      .gnb = {.amf_ue_ngap_id = rnti,
              .guami.plmn_id = {.mcc = 1, .mnc = 1, .mnc_digit_len = 2}},
  };
}

/* Number of UEs with these measurements for which a message has room. */
static size_t room_for(const kpm_act_def_format_1_t* wanted) {
  size_t ue_bytes = UE_BYTES;
  for (size_t i = 0; i < wanted->meas_info_lst_len; ++i) {
    const meas_type_t* type = &wanted->meas_info_lst[i].meas_type;
    ue_bytes += MEASUREMENT_BYTES + (type->type == NAME_MEAS_TYPE ? type->name.len : 0);
  }
  return (MESSAGE_BYTES - AROUND_BYTES) / ue_bytes;
}

/* The first UE of a report with room for some: all have their turn, in the reports that follow. */
static size_t first_of(size_t room, size_t ues, uint64_t period_ms) {
  return room < ues ? now_us() / (1000 * (period_ms > 0 ? period_ms : 1)) * room % ues : 0;
}

bool node_read_kpm(void* ind_data) {
  kpm_rd_ind_data_t* kpm = ind_data;
  /* Every UE fulfils every condition: the lab knows nothing that conditions ask for. */
  if (kpm->act_def->type != FORMAT_4_ACTION_DEFINITION) {
    return false;
  }
  const kpm_act_def_format_1_t* wanted = &kpm->act_def->frm_4.action_def_format_1;
  size_t const all = node.kpm_begin(node.context, (uintptr_t)kpm->act_def);
  size_t const room = room_for(wanted), ues = room < all ? room : all;
  size_t const first = first_of(room, all, wanted->gran_period_ms);
  if (ues == 0 || wanted->meas_info_lst_len == 0) {
    return false;
  }
  kpm->ind.hdr.type = FORMAT_1_INDICATION_HEADER;
  kpm->ind.hdr.kpm_ric_ind_hdr_format_1.collectStartTime = now_us();
  kpm->ind.msg.type = FORMAT_3_INDICATION_MESSAGE;
  kpm->ind.msg.frm_3.ue_meas_report_lst_len = ues;
  kpm->ind.msg.frm_3.meas_report_per_ue = calloc(ues, sizeof(meas_report_per_ue_t));
  for (size_t i = 0; i < ues; ++i) {
    size_t const ue = (first + i) % all;
    meas_report_per_ue_t* report = &kpm->ind.msg.frm_3.meas_report_per_ue[i];
    report->ue_meas_report_lst = ue_id(node.kpm_rnti(node.context, ue));
    report->ind_msg_format_1 = measure(ue, wanted);
  }
  return true;
}

void node_kpm_setup(void* e2_setup) {
  kpm_ran_function_def_t* def = &((kpm_e2_setup_t*)e2_setup)->ran_func_def;
  def->name.name = cp_str_to_ba(SM_KPM_STR);
  def->name.oid = cp_str_to_ba(SM_KPM_OID);
  def->name.description = cp_str_to_ba(SM_KPM_DESCRIPTION);

  def->sz_ric_event_trigger_style_list = 1;
  def->ric_event_trigger_style_list = calloc(1, sizeof(ric_event_trigger_style_item_t));
  *def->ric_event_trigger_style_list = (ric_event_trigger_style_item_t){
      .style_type = STYLE_1_RIC_EVENT_TRIGGER,
      .style_name = cp_str_to_ba("Periodic Report"),
      .format_type = FORMAT_1_RIC_EVENT_TRIGGER,
  };

  def->sz_ric_report_style_list = 1;
  def->ric_report_style_list = calloc(1, sizeof(ric_report_style_item_t));
  meas_info_for_action_lst_t* offered = calloc(N_MEASUREMENTS, sizeof(*offered));
  for (size_t i = 0; i < N_MEASUREMENTS; ++i) {
    offered[i].name = cp_str_to_ba(measurements[i]);
  }
  *def->ric_report_style_list = (ric_report_style_item_t){
      .report_style_type = STYLE_4_RIC_SERVICE_REPORT,
      .report_style_name = cp_str_to_ba("Common condition-based, UE-level Measurement"),
      .act_def_format_type = FORMAT_4_ACTION_DEFINITION,
      .meas_info_for_action_lst_len = N_MEASUREMENTS,
      .meas_info_for_action_lst = offered,
      .ind_hdr_format_type = FORMAT_1_INDICATION_HEADER,
      .ind_msg_format_type = FORMAT_3_INDICATION_MESSAGE,
  };
}
