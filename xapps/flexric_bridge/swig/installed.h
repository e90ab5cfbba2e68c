/* What the headers of the installed FlexRIC say of it. No version is named: each question is put to the
 * compiler, so that a FlexRIC between two known ones is answered for by itself. */
#ifndef SOJOURN_FLEXRIC_INSTALLED_H
#define SOJOURN_FLEXRIC_INSTALLED_H

#include <stdbool.h>
#include <stdio.h>

#include "lib/msg_hand/e2_node_arr.h"
#include "lib/msg_hand/reg_e2_nodes.h"
#include "xApp/e42_xapp_api.h"

/* S-NSSAI in a matching condition of E2SM-KPM: FlexRIC's nodes of 2023 end at an OCTET STRING, those
 * that came later, OAI's gNBs among them, at an INTEGER. The list of nodes got its own type at the
 * turn of that year, and nothing else in the headers did. */
#define FX_S_NSSAI_IS_INTEGER \
    __builtin_types_compatible_p(__typeof__(e2_nodes_xapp_api()), e2_node_arr_t)

/* A text of fr_args_t: a pointer in some versions, an array in others. */
#define FX_IS_POINTER(member) _Generic(&(member), char **: true, const char **: true, default: false)
#define FX_PUT_TEXT(member, text) \
    fx_put_text((void *)&(member), FX_IS_POINTER(member) ? 0 : sizeof(member), text)

/* `room` is 0 for a pointer; a text that is longer than an array is cut off. */
static inline void fx_put_text(void *member, size_t room, const char *text)
{
    if (room == 0)
        *(const char **)member = text;
    else
        snprintf(member, room, "%s", text);
}

#endif
