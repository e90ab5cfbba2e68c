/* E2 nodes under readable names. */
#ifndef SOJOURN_FLEXRIC_NODES_H
#define SOJOURN_FLEXRIC_NODES_H

#include <stddef.h>

#include "session.h"

enum { FX_NODE_NAME_BYTES = 64 };

/* "gnb-001-01-0xe00": kind, MCC, MNC in as many digits as it has, node id; "-cu-0x1" or "-du-0x1"
 * after it where the node is a part of a base station. */
void fx_node_name(const global_e2_node_id_t *id, char name[FX_NODE_NAME_BYTES]);

/* "gnb", "gnb-cu", "gnb-du", "enb", … */
const char *fx_node_type(ngran_node_t type);

/* The node of this name, or NULL. */
const e2_node_connected_t *fx_find_node(const e2_node_arr_t *nodes, const char *name);

/* Whether the node has this RAN function. */
_Bool fx_has_function(const e2_node_connected_t *node, int ran_function);

#endif
