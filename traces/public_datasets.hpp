// public_datasets.hpp — recordings that anybody can get: where, under which licence, as what.
#pragma once

#include <span>
#include <string_view>

namespace ukemi::traces {

struct PublicDataset {
    std::string_view name;
    std::string_view what;        // clouds, machines, times
    std::string_view repository;  // below https://github.com/
    std::string_view commit;      // that the facts here were read from
    std::string_view licence;     // "none stated": evaluate with it, do not pass it on
    std::string_view files;       // where they are in the repository, or how to make them
    std::string_view forms;       // of its files, as in the table of readers; empty: no markets
    std::string_view command;     // what reads them, in their folder
};
std::span<const PublicDataset> all_public_datasets();

}  // namespace ukemi::traces
