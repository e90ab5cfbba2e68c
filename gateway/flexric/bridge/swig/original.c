#include "original.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "xApp/e42_xapp_api.h"

const char *fx_library_path(void)
{
    Dl_info info;
    /* This function has no replacement here, so its address is in FlexRIC's library. */
    if (dladdr((void *)init_xapp_api, &info) == 0 || info.dli_fname == NULL)
        return "";
    return info.dli_fname;
}

void *fx_original(const char *name)
{
    void *library = dlopen(fx_library_path(), RTLD_LAZY | RTLD_NOLOAD);
    void *symbol = library != NULL ? dlsym(library, name) : NULL;
    if (symbol == NULL) {
        fprintf(stderr, "FlexRIC: %s has no %s\n", fx_library_path(), name);
        abort();
    }
    return symbol;
}
