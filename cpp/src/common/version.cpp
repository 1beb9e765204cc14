#include "latpred/version.h"

namespace latpred {

std::string_view version() { return LATPRED_VERSION; }

}  // namespace latpred
