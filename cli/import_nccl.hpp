// import_nccl.hpp — `ukemi import nccl-tests`: what was measured, and α–β of it.
#pragma once

#include <string>
#include <vector>

namespace ukemi::cli {

struct NcclImport {
    std::vector<std::string> files;
    std::string out;         // a folder, or empty
    std::string collective;  // where a file does not say it
    int ranks = 0;
    bool join = false;  // all tables are one machine's measurement of one collective
    bool force = false;
};
void import_nccl(const NcclImport& given);

}  // namespace ukemi::cli
