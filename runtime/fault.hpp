// fault.hpp — what a test may make a worker do to itself; workers obey only where it is allowed.
#pragma once

#include <cstdint>

namespace ukemi::runtime {

enum class Fault : std::uint8_t {
    close_sockets,    // all of them, to the coordinator and to its peers
    fill_disk,        // every write to a file fails from now on
    stop_heartbeats,  // it works on, but says nothing
    hang,             // its training thread waits for ever where it is
    tear_step,        // its next step lacks one last message, while the others have all of theirs
    die_writing,      // it is killed when the next file that it writes is begun and not complete
};

}  // namespace ukemi::runtime
