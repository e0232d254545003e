// libsodium as it is: Swift can call all of it that albumfs uses.
#pragma once
#include <sodium.h>
