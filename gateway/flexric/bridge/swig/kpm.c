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
