// parameter_server.cpp — every rank is worker and server: it adds up its part of the buffer and
// sends it to all.
//
// Li et al., "Scaling Distributed Machine Learning with the Parameter Server", OSDI 2014, one
// synchronous step.
#include "kernels/schedule.hpp"

namespace ukemi::kernels {

// The same transfers as a clique's.
Schedule make_clique(std::int32_t ranks);
Schedule make_parameter_server(std::int32_t ranks) {
    Schedule schedule = make_clique(ranks);
    schedule.name = "parameter_server";
    return schedule;
}

}  // namespace ukemi::kernels
