// fit_jobs.hpp — `ukemi fit --jobs`: the generator of workloads set to a recorded one.
#pragma once

#include <span>
#include <string>

namespace ukemi::cli {

struct FitJobsRequest {
    std::span<const std::string> files;
    std::string name;
    std::string out;  // empty: the parameters are printed
    bool force = false;
};
// With a file also prints how far what it draws is from the part of the record that was kept back.
void fit_jobs(const FitJobsRequest& request);

}  // namespace ukemi::cli
