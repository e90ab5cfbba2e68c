#include "kpm_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "per.h"

enum {
    MAX_NAME_BYTES = 150,
    /* FlexRIC's receive buffer, which bounds a message. */
    MAX_MESSAGE_BYTES = 32 * 1024,
    /* Measurements of a UE in a report. */
    MAX_RECORDS = 1024,
    MAX_REASON_BYTES = 160,
};

/* Seconds from 1900 to 1970 (RFC 5905 §6). */
static const uint64_t NTP_EPOCH_S = 2208988800u;

/* ------------------------------------------------------------------------- output */

typedef struct {
    uint8_t *bytes;
    size_t used, room;
} out_t;

static bool put(out_t *out, const void *bytes, size_t length)
{
    if (out->used + length > out->room) {
        const size_t room = 2 * out->room + length;
        uint8_t *larger = realloc(out->bytes, room);
        if (larger == NULL)
            return false;
        out->bytes = larger;
        out->room = room;
    }
    memcpy(out->bytes + out->used, bytes, length);
    out->used += length;
    return true;
}

static bool put_u32(out_t *out, uint32_t value)
{
    return put(out, &value, sizeof value);
}

/* ------------------------------------------------------------- identities of a UE */

typedef struct {
    uint8_t known;
    uint64_t amf_ue_ngap_id, gnb_cu_ue_f1ap_id, gnb_cu_cp_ue_e1ap_id, ran_ue_id;
} ue_t;

static uint64_t u32(fx_per_t *per)
{
    return fx_per_whole(per, 0, UINT32_MAX);
}

/* RAN UE ID (TS 37.483 §9.3.1.91) is an octet string: its octets as a number, the first one highest. */
static void take_ran_ue_id(fx_per_t *per, ue_t *ue)
{
    const uint8_t *octets = fx_per_octets(per, 8);
    for (size_t i = 0; octets != NULL && i < 8; ++i)
        ue->ran_ue_id = ue->ran_ue_id << 8 | octets[i];
    ue->known |= FX_RAN_UE_ID;
}

/* A list of ids on F1 or E1: that of a UE with one such id; with NR-DC there are several, and none is the
 * UE's alone. */
static void take_list(fx_per_t *per, uint64_t most, uint8_t which, uint64_t *id, ue_t *ue)
{
    const uint64_t count = fx_per_whole(per, 1, most);
    for (uint64_t i = 0; i < count && fx_per_good(per); ++i) {
        const uint32_t item = fx_per_sequence(per, 0);
        *id = u32(per);
        if (item & 1)
            fx_per_skip_additions(per);
    }
    if (count == 1)
        ue->known |= which;
}

static void take_plmn(fx_per_t *per)
{
    fx_per_octets(per, 3);
}

/* GlobalGNB-ID (TS 38.413): PLMN and 22 to 32 bits. */
static void skip_global_gnb_id(fx_per_t *per)
{
    const uint32_t global = fx_per_sequence(per, 0);
    take_plmn(per);
    if (fx_per_choice(per, 1) == 0) {
        const unsigned bits = (unsigned)fx_per_whole(per, 22, 32);
        fx_per_octets(per, 0); /* a string of more than 16 bits is aligned (16.10) */
        fx_per_bits(per, bits);
    } else
        fx_per_skip_open_type(per);
    if (global & 1)
        fx_per_skip_additions(per);
}

static void take_gnb(fx_per_t *per, ue_t *ue)
{
    enum { F1AP = 16, E1AP = 8, RAN = 4, XNAP = 2, GLOBAL = 1, MORE = 32 };
    const uint32_t has = fx_per_sequence(per, 5);

    ue->amf_ue_ngap_id = fx_per_whole(per, 0, (1ull << 40) - 1);
    ue->known |= FX_AMF_UE_NGAP_ID;
    const uint32_t guami = fx_per_sequence(per, 0);
    take_plmn(per);
    fx_per_bits(per, 8 + 10 + 6); /* AMF region, set and pointer */
    if (guami & 1)
        fx_per_skip_additions(per);
    if (has & F1AP)
        take_list(per, 4, FX_GNB_CU_UE_F1AP_ID, &ue->gnb_cu_ue_f1ap_id, ue);
    if (has & E1AP)
        take_list(per, 65535, FX_GNB_CU_CP_UE_E1AP_ID, &ue->gnb_cu_cp_ue_e1ap_id, ue);
    if (has & RAN)
        take_ran_ue_id(per, ue);
    if (has & XNAP)
        u32(per);
    if (has & GLOBAL)
        skip_global_gnb_id(per);
    if (has & MORE)
        fx_per_skip_additions(per);
}

/* UEID-GNB-DU and UEID-GNB-CU-UP: an id on F1 or E1, then the RAN UE ID. */
static void take_part(fx_per_t *per, uint8_t which, uint64_t *id, ue_t *ue)
{
    const uint32_t has = fx_per_sequence(per, 1);
    *id = u32(per);
    ue->known |= which;
    if (has & 1)
        take_ran_ue_id(per, ue);
    if (has & 2)
        fx_per_skip_additions(per);
}

/* UEID (O-RAN.WG3.E2SM §9.1.2): that of LTE has nothing to be joined by. */
static ue_t take_ue(fx_per_t *per)
{
    enum { IN_ROOT = 7 };
    ue_t ue = {0};

    switch (fx_per_choice(per, IN_ROOT)) {
    case 0:
        take_gnb(per, &ue);
        break;
    case 1:
        take_part(per, FX_GNB_CU_UE_F1AP_ID, &ue.gnb_cu_ue_f1ap_id, &ue);
        break;
    case 2:
        take_part(per, FX_GNB_CU_CP_UE_E1AP_ID, &ue.gnb_cu_cp_ue_e1ap_id, &ue);
        break;
    case 3:
    case 4:
    case 5:
    case 6:
        fx_per_fail(per, "a UE id of a gNB, gNB-DU or gNB-CU-UP");
        break;
    default:
        fx_per_skip_open_type(per);
    }
    return ue;
}

static bool put_ue(out_t *out, const ue_t *ue)
{
    const uint64_t ids[] = {ue->amf_ue_ngap_id, ue->gnb_cu_ue_f1ap_id, ue->gnb_cu_cp_ue_e1ap_id,
                            ue->ran_ue_id};
    bool good = put(out, &ue->known, sizeof ue->known);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; ++i)
        if (ue->known & 1u << i)
            good = good && put(out, &ids[i], sizeof ids[i]);
    return good;
}

/* ------------------------------------------------------------------------- values */

/* REAL (X.690 §8.5): zero, special values, base 2, 8 or 16; decimals as text. */
static double real_of(fx_per_t *per)
{
    const size_t length = fx_per_length(per);
    const uint8_t *octets = fx_per_octets(per, length);

    if (octets == NULL || length == 0)
        return 0;
    const uint8_t first = octets[0];
    if ((first & 0xc0) == 0) { /* a decimal number (ISO 6093) */
        char text[64];
        if (length > sizeof text) {
            fx_per_fail(per, "a decimal REAL of at most 63 octets");
            return 0;
        }
        memcpy(text, octets + 1, length - 1);
        text[length - 1] = '\0';
        char *comma = strchr(text, ',');
        if (comma != NULL)
            *comma = '.';
        return strtod(text, NULL);
    }
    if ((first & 0xc0) == 0x40)
        return first == 0x40 ? INFINITY : first == 0x41 ? -INFINITY : first == 0x43 ? -0.0 : NAN;
    size_t at = 1, exponent_octets = (first & 3) + 1u;
    if (exponent_octets == 4)
        exponent_octets = at < length ? octets[at++] : 0;
    if (exponent_octets < 1 || exponent_octets > 4 || at + exponent_octets >= length ||
        length - at - exponent_octets > 8) {
        fx_per_fail(per, "a binary REAL of at most 4 octets of exponent and 8 of mantissa");
        return 0;
    }
    int64_t exponent = (int8_t)octets[at];
    for (size_t i = 1; i < exponent_octets; ++i)
        exponent = exponent * 256 + octets[at + i];
    uint64_t mantissa = 0;
    for (at += exponent_octets; at < length; ++at)
        mantissa = mantissa << 8 | octets[at];
    static const int8_t BITS[] = {1, 3, 4, 0}; /* of a digit in base 2, 8, 16 */
    const int64_t power = exponent * BITS[first >> 4 & 3] + (first >> 2 & 3);
    const double size = ldexp((double)mantissa, power > 4096 ? 4096 : power < -4096 ? -4096 : (int)power);
    return first & 0x40 ? -size : size;
}

typedef struct {
    bool there;
    double value;
} record_t;

/* MeasurementRecordItem: "no value" and what later versions add have no value, as notSatisfied of v5. */
static record_t take_record(fx_per_t *per)
{
    record_t record = {0};
    switch (fx_per_choice(per, 3)) {
    case 0:
        record = (record_t){.there = true, .value = (double)u32(per)};
        break;
    case 1:
        record = (record_t){.there = true, .value = real_of(per)};
        record.there = isfinite(record.value);
        break;
    case 2:
        break;
    default:
        fx_per_skip_open_type(per);
    }
    return record;
}

/* MeasurementData: the records of the last granularity period of the report. */
static size_t take_data(fx_per_t *per, record_t records[MAX_RECORDS])
{
    const uint64_t periods = fx_per_whole(per, 1, 65535);
    size_t count = 0;

    for (uint64_t i = 0; i < periods && fx_per_good(per); ++i) {
        const uint32_t item = fx_per_sequence(per, 1);
        count = fx_per_length(per);
        if (count > MAX_RECORDS)
            fx_per_fail(per, "at most 1024 records of a UE");
        for (size_t k = 0; k < count && fx_per_good(per); ++k)
            records[k] = take_record(per);
        if (item & 1)
            fx_per_enumerated(per, 1); /* incompleteFlag */
        if (item & 2)
            fx_per_skip_additions(per);
    }
    return count;
}

/* ------------------------------------------------------------------------- labels */

static void skip_slice(fx_per_t *per)
{
    const uint32_t has = fx_per_sequence(per, 1);
    fx_per_bits(per, 8);
    if (has & 1)
        fx_per_octets(per, 3);
    if (has & 2)
        fx_per_skip_additions(per);
}

/* MeasurementLabel; whether it says that there is none. */
static bool take_label(fx_per_t *per)
{
    typedef enum { FLAG, PLMN, SLICE, START_END, QCI, INTEGER } kind_t;
    static const struct {
        kind_t kind;
        uint16_t least, most;
    } OF[] = {
        {FLAG, 0, 0},        /* noLabel */
        {PLMN, 0, 0},        {SLICE, 0, 0},
        {INTEGER, 0, 255},   /* fiveQI */
        {INTEGER, 0, 63},    /* qFI */
        {QCI, 0, 0},         {QCI, 0, 0},         {QCI, 0, 0}, /* qCI, its most and least */
        {INTEGER, 1, 15},    {INTEGER, 1, 15},    /* aRPmax, aRPmin */
        {INTEGER, 1, 65535}, {INTEGER, 1, 65535}, /* bitrateRange, layerMU-MIMO */
        {FLAG, 0, 0},        /* sUM */
        {INTEGER, 1, 65535}, {INTEGER, 1, 65535}, {INTEGER, 1, 65535}, /* distBinX, Y, Z */
        {FLAG, 0, 0},        /* preLabelOverride */
        {START_END, 0, 0},   {FLAG, 0, 0},        {FLAG, 0, 0},        {FLAG, 0, 0}, /* min, max, avg */
    };
    enum { COMPONENTS = sizeof OF / sizeof *OF };
    const uint32_t has = fx_per_sequence(per, COMPONENTS);

    for (size_t i = 0; i < COMPONENTS && fx_per_good(per); ++i) {
        if (!(has >> (COMPONENTS - 1 - i) & 1))
            continue;
        switch (OF[i].kind) {
        case FLAG: fx_per_enumerated(per, 1); break;
        case PLMN: take_plmn(per); break;
        case SLICE: skip_slice(per); break;
        case START_END: fx_per_enumerated(per, 2); break;
        case QCI: fx_per_whole(per, 0, 255); break;
        case INTEGER: fx_per_integer(per, OF[i].least, OF[i].most); break;
        }
    }
    if (has >> COMPONENTS & 1)
        fx_per_skip_additions(per);
    return has >> (COMPONENTS - 1) & 1;
}

/* ------------------------------------------------------------------- measurements */

typedef struct {
    const uint8_t *name; /* NULL: it has a number, or a kind that a later version adds */
    size_t bytes;
    size_t labels;
    /* The place of the label "none" among them, or 0. */
    size_t without;
} info_t;

static info_t take_info(fx_per_t *per)
{
    const uint32_t item = fx_per_sequence(per, 0);
    info_t info = {0};

    switch (fx_per_choice(per, 2)) {
    case 0:
        info.bytes = fx_per_bits(per, 1) == 0 ? (size_t)fx_per_whole(per, 1, MAX_NAME_BYTES)
                                              : fx_per_length(per);
        info.name = fx_per_octets(per, info.bytes);
        while (info.name != NULL && info.bytes > 0 && info.name[info.bytes - 1] == '\0')
            --info.bytes; /* nodes in C include the closing zero */
        if (info.bytes > MAX_NAME_BYTES)
            info.name = NULL;
        break;
    case 1:
        fx_per_integer(per, 1, 65536);
        break;
    default:
        fx_per_skip_open_type(per);
    }
    info.labels = fx_per_length(per);
    for (size_t i = 0; i < info.labels && fx_per_good(per); ++i) {
        const uint32_t label = fx_per_sequence(per, 0);
        if (take_label(per))
            info.without = i;
        if (label & 1)
            fx_per_skip_additions(per);
    }
    if (item & 1)
        fx_per_skip_additions(per);
    return info;
}

static bool put_value(out_t *out, const info_t *info, const record_t *record, uint32_t *values)
{
    const uint8_t length = (uint8_t)info->bytes;
    if (info->name == NULL || length == 0 || !record->there)
        return true;
    ++*values;
    return put(out, &length, 1) && put(out, info->name, length) &&
           put(out, &record->value, sizeof record->value);
}

/* The values of a UE by name, which come behind its records. A record is that of a measurement's label, or
 * of a measurement, as OCUDU has it. */
static bool put_values(out_t *out, fx_per_t *per, const record_t *records, size_t count)
{
    const size_t count_at = out->used;
    uint32_t values = 0;
    bool good = put_u32(out, values);
    const fx_per_t before = *per;
    const uint64_t infos = fx_per_whole(per, 1, 65535);
    size_t labels = 0;

    for (uint64_t i = 0; i < infos && fx_per_good(per); ++i)
        labels += take_info(per).labels;
    if (!fx_per_good(per))
        return good;
    if (count != infos && count != labels) {
        fx_per_fail(per, "a record for each measurement, or each label");
        return good;
    }
    fx_per_t again = before;
    fx_per_whole(&again, 1, 65535);
    for (size_t i = 0, at = 0; i < infos; ++i) {
        const info_t info = take_info(&again);
        good = good && put_value(out, &info, &records[count == infos ? i : at + info.without], &values);
        at += info.labels;
    }
    if (good)
        memcpy(out->bytes + count_at, &values, sizeof values);
    return good;
}

/* UEMeasurementReportItem: the id of a UE, and E2SM-KPM-IndicationMessage-Format1. */
static bool put_report(out_t *out, fx_per_t *per, uint32_t *granularity_ms)
{
    enum { INFO = 2, PERIOD = 1, MORE = 4 };
    static record_t records[MAX_RECORDS]; /* FlexRIC has one thread for reports */
    const uint32_t item = fx_per_sequence(per, 0);
    const ue_t ue = take_ue(per);
    bool good = put_ue(out, &ue);

    const uint32_t has = fx_per_sequence(per, 2);
    const size_t count = take_data(per, records);
    if (!(has & INFO))
        fx_per_fail(per, "measInfoList: values have no names without it");
    if (fx_per_good(per))
        good = good && put_values(out, per, records, count);
    if (has & PERIOD)
        *granularity_ms = (uint32_t)fx_per_whole(per, 1, UINT32_MAX);
    if (has & MORE)
        fx_per_skip_additions(per);
    if (item & 1)
        fx_per_skip_additions(per);
    return good;
}

static bool put_format_3(out_t *out, fx_per_t *per, uint32_t period_ms)
{
    const uint32_t has = fx_per_sequence(per, 0);
    const uint64_t ues = fx_per_whole(per, 1, 65535);
    bool good = put_u32(out, period_ms) && put_u32(out, (uint32_t)ues);

    for (uint64_t i = 0; good && i < ues && fx_per_good(per); ++i)
        good = put_report(out, per, &period_ms);
    if (has & 1)
        fx_per_skip_additions(per);
    if (good && fx_per_good(per))
        memcpy(out->bytes, &period_ms, sizeof period_ms);
    return good;
}

/* E2SM-KPM-IndicationMessage. Only format 3 is subscribed to, so the alternative shows which choice a node
 * has: 1 and an addition of the standard's, or index 2 of FlexRIC's. */
static bool put_message(out_t *out, fx_per_t *per, uint32_t period_ms)
{
    enum { FLEXRIC_FORMAT_3 = 2 };
    fx_per_bits(per, 1); /* additions would be at the end, where nothing is read any more */
    if (fx_per_bits(per, 1) == 0) {
        if (fx_per_bits(per, 2) != FLEXRIC_FORMAT_3)
            fx_per_fail(per, "indication message format 3");
        return put_format_3(out, per, period_ms);
    }
    static uint8_t contents[MAX_MESSAGE_BYTES];
    if (fx_per_bits(per, 7) != 0)
        fx_per_fail(per, "indication message format 3");
    fx_per_t format = fx_per(contents, fx_per_open_type(per, contents, sizeof contents));
    if (!fx_per_good(per))
        return true;
    const bool good = put_format_3(out, &format, period_ms);
    if (!fx_per_good(&format)) {
        per->expected = format.expected;
        per->failed_at = format.failed_at;
    }
    return good;
}

uint8_t *fx_kpm_unpack(const uint8_t *header, size_t header_bytes, const uint8_t *message,
                       size_t message_bytes, uint32_t period_ms, fx_record_head_t *head)
{
    fx_per_t per = fx_per(message, message_bytes);
    out_t out = {0};

    head->collected_at_us = fx_kpm_collected_at_us(header, header_bytes, head->received_at_us);
    bool good = put_message(&out, &per, period_ms);
    if (good && !fx_per_good(&per)) {
        char reason[MAX_REASON_BYTES];
        const int length = snprintf(reason, sizeof reason, "bit %zu of %zu bytes; expected %s",
                                    per.failed_at, message_bytes, per.expected);
        out.used = 0;
        good = put_u32(&out, FX_KPM_UNREADABLE) && put(&out, reason, (size_t)length);
    }
    if (!good) {
        free(out.bytes);
        return NULL;
    }
    head->bytes = (uint32_t)out.used;
    return out.bytes;
}

/* --------------------------------------------------------------------- time stamp */

/* A string of the header with at most `most` characters and an extension marker. */
static void skip_string(fx_per_t *per, uint64_t most)
{
    const size_t length = fx_per_bits(per, 1) == 0 ? (size_t)fx_per_whole(per, 0, most)
                                                   : fx_per_length(per);
    fx_per_octets(per, length);
}

/* The time stamp of E2SM-KPM-IndicationHeader, with this number of octets; NULL where the header has not. */
static const uint8_t *stamp_of(const uint8_t *header, size_t bytes, size_t octets)
{
    static const uint16_t MOST[] = {15, 400, 8, 32}; /* file format, sender's name and type, vendor */
    fx_per_t per = fx_per(header, bytes);

    const uint32_t outer = fx_per_sequence(&per, 0);
    if (fx_per_choice(&per, 1) != 0)
        return NULL;
    const uint32_t has = fx_per_sequence(&per, 4);
    const uint8_t *stamp = fx_per_octets(&per, octets);
    for (size_t i = 0; i < 4; ++i)
        if (has >> (3 - i) & 1)
            skip_string(&per, MOST[i]);
    if (has >> 4 & 1)
        fx_per_skip_additions(&per);
    if (outer & 1)
        fx_per_skip_additions(&per);
    return fx_per_good(&per) && fx_per_left(&per) == 0 ? stamp : NULL;
}

static uint64_t number_of(const uint8_t *octets, size_t count, bool low_first)
{
    uint64_t number = 0;
    for (size_t i = 0; i < count; ++i)
        number = number << 8 | octets[low_first ? count - 1 - i : i];
    return number;
}

typedef struct {
    uint64_t received_at_us, at_us, apart_us;
} nearest_t;

static void consider(nearest_t *nearest, uint64_t at_us)
{
    const uint64_t apart_us = at_us > nearest->received_at_us ? at_us - nearest->received_at_us
                                                               : nearest->received_at_us - at_us;
    if (apart_us < nearest->apart_us) {
        nearest->at_us = at_us;
        nearest->apart_us = apart_us;
    }
}

static void consider_seconds(nearest_t *nearest, uint64_t unix_s, uint64_t fraction)
{
    if (unix_s <= UINT32_MAX)
        consider(nearest, unix_s * 1000000 + (fraction * 1000000 >> 32));
}

uint64_t fx_kpm_collected_at_us(const uint8_t *header, size_t bytes, uint64_t received_at_us)
{
    /* A clock that is wrong by more than a day is not used. */
    nearest_t nearest = {received_at_us, received_at_us, 86400ull * 1000000};
    const uint8_t *stamp = stamp_of(header, bytes, 8);

    for (int low_first = 0; stamp != NULL && low_first < 2; ++low_first) {
        const uint64_t number = number_of(stamp, 8, low_first);
        consider_seconds(&nearest, (number >> 32) - NTP_EPOCH_S, number & UINT32_MAX);
        consider_seconds(&nearest, number >> 32, number & UINT32_MAX);
        consider_seconds(&nearest, number, 0);
        if (number < UINT64_MAX / 1000)
            consider(&nearest, number * 1000);
        consider(&nearest, number);
    }
    if (stamp != NULL)
        return nearest.at_us;
    stamp = stamp_of(header, bytes, 4);
    if (stamp == NULL)
        return received_at_us;
    for (int low_first = 0; low_first < 2; ++low_first) {
        const uint64_t number = number_of(stamp, 4, low_first);
        consider_seconds(&nearest, number - NTP_EPOCH_S, 0);
        consider_seconds(&nearest, number, 0);
        consider(&nearest, fx_widen_us((uint32_t)number, received_at_us));
    }
    return nearest.at_us;
}
