// launcher.hpp — collective operations in flight while the caller goes on computing.
//
// Two ways to agree on what runs when:
//   by_name      nobody asks anybody: each rank starts what is ready and operations find each other
//                by name (KungFu, RUNTIME §1.9). Every operation in flight has a thread of its own,
//                so no order of launches on the ranks can lock them up.
//   coordinated  one background thread a rank, in cycles: rank 0 learns what is ready where, and
//                what is ready everywhere runs next, in an order that rank 0 fixed when it first
//                saw the names. Known names travel as bits (Horovod's response cache), new ones
//                as text (RUNTIME §4.2). A rank with nothing in flight takes part in no cycle:
//                nothing can be ready everywhere without it.
// Threads are kept between steps.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "kernels/communicator.hpp"
#include "kernels/schedule.hpp"

namespace ukemi::kernels {

struct LaunchSettings {
    bool coordinated = false;  // else by_name
    int operations_max = 256;  // in flight at once; by_name: threads at most
    // Coordinated: from the start of a cycle to that of the next, at least (Horovod's 1 ms).
    std::chrono::microseconds cycle_time{1000};
};

struct LaunchResult {
    Outcome outcome = Outcome::ok;  // the first that was not ok
    std::int64_t operations = 0;    // since the last wait_all
    std::int64_t busy_ns = 0;       // time during which at least one of them was under way
    std::int64_t cycles = 0;        // coordinated: negotiations that this took
};

class Launcher {
public:
    // `peers` outlives this object. All ranks use the same settings.
    Launcher(Communicator& peers, LaunchSettings settings);
    // Waits for what is in flight.
    ~Launcher();
    Launcher(const Launcher&) = delete;
    Launcher& operator=(const Launcher&) = delete;

    // Sums `values` over all ranks, some time before wait_all returns; both it and the schedule
    // must live, and nobody touch the values, until then. Between two wait_alls every rank
    // launches the same names, in any order; names must not begin with "launcher/". One thread
    // launches and waits.
    void launch(std::string_view name, const Schedule& schedule, std::span<float> values);
    // The same with operations of the caller's own, one after the other, all of them named so that
    // no other is.
    void launch(std::string_view name, std::function<Outcome()> operations);
    // Until everything launched has ended. After anything but ok the Communicator is of no more
    // use; later launches end at once.
    LaunchResult wait_all();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace ukemi::kernels
