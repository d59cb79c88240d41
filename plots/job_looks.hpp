// job_looks.hpp — colour and pattern of the jobs of a cluster, the same in every figure of one
// drawing.
//
// There may be more jobs than looks that can be told apart: those with most GPU time have one each,
// and the others share a grey. Where all of these have less than a third of that time, that says
// nothing: then a look is of all jobs that have so many GPUs at most.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "plots/gnuplot.hpp"
#include "plots/legend.hpp"

namespace ukemi::plots {

class JobLooks {
public:
    // By names, as the inputs have jobs of the same name.
    explicit JobLooks(std::span<const MachineUseInput> inputs);

    // 0, 1, … of a job with a look of its own; count() of any other.
    std::size_t of(const std::string& job) const;
    std::size_t count() const { return names_.size(); }
    const std::string& name(std::size_t look) const { return names_[look]; }  // of a job, or jobs
    BarFill fill(std::size_t look) const;                                     // also of count()

    // How many jobs of the input share the last look, and the keys of all looks that it has; array
    // `looks` of the settings holds their texts.
    std::size_t others_in(const MachineUseInput& input) const { return jobs_in(input)[count()]; }
    std::vector<LegendEntry> entries(const MachineUseInput& input) const;
    std::string settings(const MachineUseInput& input) const;

private:
    struct SeenLook {
        std::size_t look = 0;
        std::string text;  // of its key
    };
    std::vector<SeenLook> seen_in(const MachineUseInput& input) const;
    std::vector<std::size_t> jobs_in(const MachineUseInput& input) const;  // by look

    std::vector<std::string> names_;
    std::map<std::string, std::size_t> looks_;  // by job
    bool by_size_ = false;
};

// "fs pattern 4 border …", of boxes and of areas.
std::string look_of_fill(const BarFill& fill, bool border);

}  // namespace ukemi::plots
