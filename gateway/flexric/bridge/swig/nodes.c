#include "nodes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *type, *station, *part;
} kind_t;

static kind_t kind_of(ngran_node_t type)
{
    static const kind_t KINDS[] = {
        [ngran_eNB] = {"enb", "enb", ""},
        [ngran_ng_eNB] = {"ng-enb", "ng-enb", ""},
        [ngran_gNB] = {"gnb", "gnb", ""},
        [ngran_eNB_CU] = {"enb-cu", "enb", "cu"},
        [ngran_ng_eNB_CU] = {"ng-enb-cu", "ng-enb", "cu"},
        [ngran_gNB_CU] = {"gnb-cu", "gnb", "cu"},
        [ngran_eNB_DU] = {"enb-du", "enb", "du"},
        [ngran_gNB_DU] = {"gnb-du", "gnb", "du"},
        [ngran_eNB_MBMS_STA] = {"enb-mbms-sta", "enb-mbms-sta", ""},
        [ngran_gNB_CUCP] = {"gnb-cucp", "gnb", "cucp"},
        [ngran_gNB_CUUP] = {"gnb-cuup", "gnb", "cuup"},
    };
    static const kind_t UNKNOWN = {"unknown", "node", ""};
    return (size_t)type < sizeof KINDS / sizeof *KINDS ? KINDS[type] : UNKNOWN;
}

const char *fx_node_type(ngran_node_t type)
{
    return kind_of(type).type;
}

void fx_node_name(const global_e2_node_id_t *id, char name[FX_NODE_NAME_BYTES])
{
    const kind_t kind = kind_of(id->type);
    const int length =
        snprintf(name, FX_NODE_NAME_BYTES, "%s-%03u-%0*u-0x%" PRIx32, kind.station, id->plmn.mcc,
                 id->plmn.mnc_digit_len, id->plmn.mnc, id->nb_id.nb_id);
    char *part = name + length;
    const size_t room = FX_NODE_NAME_BYTES - (size_t)length;

    if (id->cu_du_id != NULL)
        snprintf(part, room, "-%s-0x%" PRIx64, kind.part[0] != '\0' ? kind.part : "part",
                 *id->cu_du_id);
    else if (kind.part[0] != '\0')
        snprintf(part, room, "-%s", kind.part);
}

const e2_node_connected_t *fx_find_node(const e2_node_arr_t *nodes, const char *name)
{
    char candidate[FX_NODE_NAME_BYTES];
    for (size_t i = 0; i < nodes->len; ++i) {
        fx_node_name(&nodes->n[i].id, candidate);
        if (strcmp(candidate, name) == 0)
            return &nodes->n[i];
    }
    return NULL;
}

_Bool fx_has_function(const e2_node_connected_t *node, int ran_function)
{
    for (size_t i = 0; i < node->len_rf; ++i)
        if (node->ack_rf[i].id == ran_function)
            return 1;
    return 0;
}
