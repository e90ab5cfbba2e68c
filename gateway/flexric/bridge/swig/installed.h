/* Properties of the installed FlexRIC, from its headers. No version is named: the compiler answers each
 * question, so a version between two tested ones works, too. */
#ifndef SOJOURN_FLEXRIC_INSTALLED_H
#define SOJOURN_FLEXRIC_INSTALLED_H

#include <stdbool.h>
#include <stdio.h>

#include "lib/msg_hand/e2_node_arr.h"
#include "lib/msg_hand/reg_e2_nodes.h"
#include "xApp/e42_xapp_api.h"

/* S-NSSAI in a matching condition of E2SM-KPM: FlexRIC's nodes of 2023 abort on an OCTET STRING, later
 * ones, OAI's gNBs among them, on an INTEGER. The headers differ only in that the list of nodes got its
 * own type at the same time. */
#define FX_S_NSSAI_IS_INTEGER \
    __builtin_types_compatible_p(__typeof__(e2_nodes_xapp_api()), e2_node_arr_t)

/* A text of fr_args_t: a pointer in some versions, an array in others. */
#define FX_IS_POINTER(member) _Generic(&(member), char **: true, const char **: true, default: false)
#define FX_PUT_TEXT(member, text) \
    fx_put_text((void *)&(member), FX_IS_POINTER(member) ? 0 : sizeof(member), text)

/* `room` is 0 for a pointer; a text longer than the array is truncated. */
static inline void fx_put_text(void *member, size_t room, const char *text)
{
    if (room == 0)
        *(const char **)member = text;
    else
        snprintf(member, room, "%s", text);
}

#endif
