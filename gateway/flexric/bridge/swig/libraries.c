#include "libraries.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* FlexRIC keeps both names in buffers of this size, with the slash and the closing zero. */
enum { NAME_BYTES = 128 - 2 };

static bool check_entry(const char *directory, const char *name, int *models, fx_error_t *error)
{
    char path[1024];
    struct stat status;

    snprintf(path, sizeof path, "%s/%s", directory, name);
    /* FlexRIC skips what is no regular file, and names that contain ".conf". */
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || strstr(name, ".conf") != NULL)
        return true;
    if (strncmp(name, "lib", 3) != 0 || strstr(name, "_sm.so") == NULL)
        return fx_fail(error, FX_MISMATCH,
                       "%s is no service model, and FlexRIC loads each file of the directory; "
                       "expected lib…_sm.so alone",
                       path);
    ++*models;
    return true;
}

bool fx_check_libraries(const char *directory, fx_error_t *error)
{
    if (strlen(directory) > NAME_BYTES)
        return fx_fail(error, FX_MISMATCH,
                       "the name of the directory of service models has %zu bytes; FlexRIC takes %d",
                       strlen(directory), NAME_BYTES);
    if (strstr(directory, ".conf") != NULL)
        return fx_fail(error, FX_MISMATCH,
                       "FlexRIC loads nothing from a directory with \".conf\" in its name: %s",
                       directory);
    DIR *opened = opendir(directory);
    if (opened == NULL)
        return fx_fail(error, FX_MISMATCH, "there is no directory of service models %s", directory);

    bool good = true;
    int models = 0;
    for (struct dirent *entry; good && (entry = readdir(opened)) != NULL;)
        good = check_entry(directory, entry->d_name, &models, error);
    closedir(opened);
    if (good && models == 0)
        return fx_fail(error, FX_MISMATCH, "there is no service model (lib…_sm.so) in %s", directory);
    return good;
}

bool fx_check_configuration(const char *file, fx_error_t *error)
{
    struct stat status;
    if (strlen(file) > NAME_BYTES)
        return fx_fail(error, FX_MISMATCH,
                       "the name of FlexRIC's configuration has %zu bytes; FlexRIC takes %d",
                       strlen(file), NAME_BYTES);
    if (stat(file, &status) != 0 || !S_ISREG(status.st_mode))
        return fx_fail(error, FX_MISMATCH, "there is no file %s, FlexRIC's configuration", file);
    return true;
}
