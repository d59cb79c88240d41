// data_complaint.hpp — whether a data set can be what its spec says, before any file is opened.
#pragma once

#include <string>

#include "kernels/data_set.hpp"

namespace ukemi::kernels {

struct DataComplaint {
    std::string key;      // of DataSpec
    std::string problem;  // empty: there is none
};
DataComplaint data_complaint(const DataSpec& spec);

}  // namespace ukemi::kernels
