#include "kpm.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "installed.h"

/* A name has at most 150 characters (E2SM-KPM 8.3.9). */
enum { MAX_NAME_BYTES = 150 };

static void *zeroed(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    assert(memory != NULL);
    return memory;
}

static meas_info_format_1_lst_t measurement(const char *name)
{
    meas_info_format_1_lst_t wanted = {.meas_type.type = NAME_MEAS_TYPE, .label_info_lst_len = 1};
    wanted.meas_type.name.len = strlen(name);
    wanted.meas_type.name.buf = zeroed(1, wanted.meas_type.name.len + 1);
    memcpy(wanted.meas_type.name.buf, name, wanted.meas_type.name.len);
    wanted.label_info_lst = zeroed(1, sizeof *wanted.label_info_lst);
    wanted.label_info_lst[0].noLabel = zeroed(1, sizeof(enum_value_e));
    *wanted.label_info_lst[0].noLabel = TRUE_ENUM_VALUE;
    return wanted;
}

static test_cond_value_t s_nssai(fx_s_nssai_t slice)
{
    test_cond_value_t value = {0};
    if (FX_S_NSSAI_IS_INTEGER) {
        value.type = INTEGER_TEST_COND_VALUE;
        value.int_value = zeroed(1, sizeof *value.int_value);
        *value.int_value = slice.sst;
        return value;
    }
    /* SST in one octet, then SD in three. */
    const uint8_t octets[] = {(uint8_t)slice.sst, (uint8_t)(slice.sd >> 16), (uint8_t)(slice.sd >> 8),
                              (uint8_t)slice.sd};
    value.type = OCTET_STRING_TEST_COND_VALUE;
    value.octet_string_value = zeroed(1, sizeof *value.octet_string_value);
    value.octet_string_value->len = slice.sd < 0 ? 1 : sizeof octets;
    value.octet_string_value->buf = zeroed(1, sizeof octets);
    memcpy(value.octet_string_value->buf, octets, value.octet_string_value->len);
    return value;
}

/* The only condition by which FlexRIC's E2 nodes report UEs: those of a slice. */
static matching_condition_format_4_lst_t ues_of(fx_s_nssai_t slice)
{
    matching_condition_format_4_lst_t condition = {0};
    test_info_lst_t *test = &condition.test_info_lst;
    test->test_cond_type = S_NSSAI_TEST_COND_TYPE;
    test->S_NSSAI = TRUE_TEST_COND_TYPE;
    test->test_cond = zeroed(1, sizeof *test->test_cond);
    *test->test_cond = EQUAL_TEST_COND;
    test->test_cond_value = zeroed(1, sizeof *test->test_cond_value);
    *test->test_cond_value = s_nssai(slice);
    return condition;
}

bool fx_kpm_subscription(const char *const *names, size_t count, uint32_t period_ms,
                         fx_s_nssai_t slice, kpm_sub_data_t *subscription, fx_error_t *error)
{
    if (count == 0)
        return fx_fail(error, FX_BAD_MESSAGE, "KPM: no measurement is named");
    for (size_t i = 0; i < count; ++i)
        if (names[i][0] == '\0' || strlen(names[i]) > MAX_NAME_BYTES)
            return fx_fail(error, FX_BAD_MESSAGE, "KPM: name %zu has %zu characters; expected 1 to %d",
                           i, strlen(names[i]), MAX_NAME_BYTES);
    if (slice.sst < 0 || slice.sst > 0xff || slice.sd < -1 || slice.sd > 0xffffff)
        return fx_fail(error, FX_BAD_MESSAGE,
                       "KPM: S-NSSAI with SST %d and SD %#x; expected 0 to 255 and 0 to 0xffffff",
                       slice.sst, (unsigned)slice.sd);
    if (FX_S_NSSAI_IS_INTEGER && slice.sd >= 0)
        return fx_fail(error, FX_REFUSED,
                       "KPM: a slice with SD %#x; the installed FlexRIC takes an S-NSSAI as INTEGER, "
                       "which has room for the SST alone",
                       (unsigned)slice.sd);

    *subscription = (kpm_sub_data_t){.sz_ad = 1, .ad = zeroed(1, sizeof(kpm_act_def_t))};
    subscription->ev_trg_def.type = FORMAT_1_RIC_EVENT_TRIGGER;
    subscription->ev_trg_def.kpm_ric_event_trigger_format_1.report_period_ms = period_ms;

    subscription->ad->type = FORMAT_4_ACTION_DEFINITION;
    kpm_act_def_format_4_t *action = &subscription->ad->frm_4;
    action->matching_cond_lst_len = 1;
    action->matching_cond_lst = zeroed(1, sizeof *action->matching_cond_lst);
    action->matching_cond_lst[0] = ues_of(slice);
    action->action_def_format_1.gran_period_ms = period_ms;
    action->action_def_format_1.meas_info_lst_len = count;
    action->action_def_format_1.meas_info_lst =
        zeroed(count, sizeof *action->action_def_format_1.meas_info_lst);
    for (size_t i = 0; i < count; ++i)
        action->action_def_format_1.meas_info_lst[i] = measurement(names[i]);
    return true;
}

void fx_kpm_free(kpm_sub_data_t *subscription)
{
    free_kpm_sub_data(subscription);
}

typedef struct {
    uint8_t *bytes;
    size_t used, room;
} out_t;

static void put(out_t *out, const void *bytes, size_t length)
{
    if (out->used + length > out->room) {
        out->room = 2 * out->room + length;
        out->bytes = realloc(out->bytes, out->room);
        assert(out->bytes != NULL);
    }
    memcpy(out->bytes + out->used, bytes, length);
    out->used += length;
}

static void put_u32(out_t *out, uint32_t value)
{
    put(out, &value, sizeof value);
}

/* The RAN's own id of the UE (in OAI its RNTI) where the node reports it, otherwise the id of the UE on
 * the interface that this node has. */
static uint32_t id_of(const ue_id_e2sm_t *ue)
{
    switch (ue->type) {
    case GNB_UE_ID_E2SM:
        if (ue->gnb.ran_ue_id != NULL)
            return (uint32_t)*ue->gnb.ran_ue_id;
        if (ue->gnb.gnb_cu_ue_f1ap_lst_len > 0)
            return ue->gnb.gnb_cu_ue_f1ap_lst[0];
        return (uint32_t)ue->gnb.amf_ue_ngap_id;
    case GNB_DU_UE_ID_E2SM:
        if (ue->gnb_du.ran_ue_id != NULL)
            return (uint32_t)*ue->gnb_du.ran_ue_id;
        return ue->gnb_du.gnb_cu_ue_f1ap;
    case GNB_CU_UP_UE_ID_E2SM:
        if (ue->gnb_cu_up.ran_ue_id != NULL)
            return (uint32_t)*ue->gnb_cu_up.ran_ue_id;
        return ue->gnb_cu_up.gnb_cu_cp_ue_e1ap;
    default:
        return 0;
    }
}

/* The value of a record; false where the node reports none. */
static bool value_of(const meas_record_lst_t *record, double *value)
{
    if (record->value == INTEGER_MEAS_VALUE)
        *value = record->int_val;
    else if (record->value == REAL_MEAS_VALUE)
        *value = record->real_val;
    else
        return false;
    return true;
}

/* Values of one UE by name; with several granularity periods in a report, the last one's. */
static void put_ue(out_t *out, const meas_report_per_ue_t *ue)
{
    const kpm_ind_msg_format_1_t *of = &ue->ind_msg_format_1;
    uint32_t values = 0;

    put_u32(out, id_of(&ue->ue_meas_report_lst));
    const size_t count_at = out->used;
    put_u32(out, values);
    if (of->meas_data_lst_len > 0) {
        const meas_data_lst_t *last = &of->meas_data_lst[of->meas_data_lst_len - 1];
        for (size_t i = 0; i < last->meas_record_len && i < of->meas_info_lst_len; ++i) {
            const meas_type_t *type = &of->meas_info_lst[i].meas_type;
            double value;
            if (type->type != NAME_MEAS_TYPE || type->name.len > MAX_NAME_BYTES ||
                !value_of(&last->meas_record_lst[i], &value))
                continue;
            const uint8_t length = (uint8_t)type->name.len;
            put(out, &length, 1);
            put(out, type->name.buf, length);
            put(out, &value, sizeof value);
            ++values;
        }
    }
    memcpy(out->bytes + count_at, &values, sizeof values);
}

uint8_t *fx_kpm_unpack(const ric_indication_t *report, uint32_t period_ms, fx_record_head_t *head)
{
    sm_ric_t *sm = sm_plugin_ric(&fx_xapp->plugin_ric, FX_KPM);
    const sm_ind_data_t data = {.ind_hdr = report->hdr.buf,
                                .len_hdr = report->hdr.len,
                                .ind_msg = report->msg.buf,
                                .len_msg = report->msg.len};
    sm_ag_if_rd_ind_t decoded = sm->proc.on_indication(sm, &data);
    const kpm_ind_data_t *kpm = &decoded.kpm.ind;
    out_t out = {0};

    if (kpm->msg.type == FORMAT_3_INDICATION_MESSAGE) {
        const kpm_ind_msg_format_3_t *ues = &kpm->msg.frm_3;
        const uint32_t *period = ues->ue_meas_report_lst_len > 0
                                     ? ues->meas_report_per_ue[0].ind_msg_format_1.gran_period_ms
                                     : NULL;
        put_u32(&out, period != NULL ? *period : period_ms);
        put_u32(&out, (uint32_t)ues->ue_meas_report_lst_len);
        for (size_t i = 0; i < ues->ue_meas_report_lst_len; ++i)
            put_ue(&out, &ues->meas_report_per_ue[i]);
        head->bytes = (uint32_t)out.used;
        head->collected_at_us = fx_widen_us(
            kpm->hdr.kpm_ric_ind_hdr_format_1.collectStartTime, head->received_at_us);
    }
    free_sm_ag_if_rd_ind(&decoded);
    return out.bytes;
}
