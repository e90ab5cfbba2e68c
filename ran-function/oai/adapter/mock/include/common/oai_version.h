#define OAI_PACKAGE_VERSION "a stand-in"
