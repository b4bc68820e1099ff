// Who wants to know of devices that are opened (when_opened).
#pragma once

#include "forebay/runtime/device.hpp"

namespace forebay::opening {

/// Calls what `when_opened` registered. Throws what that throws. Thread safety: any thread.
void tell(Device& device);

}  // namespace forebay::opening
