#include "escalona/scheduler.h"
