#pragma once

#include "batch/torch_error.h"
