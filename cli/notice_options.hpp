// notice_options.hpp — the option --notices of commands that run on machines which may be taken.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "runtime/notices/notice_source.hpp"

namespace ukemi::cli {

// "aws,file:/run/taken". Throws InputError.
std::vector<std::unique_ptr<runtime::NoticeSource>> sources_in(std::string_view names);

}  // namespace ukemi::cli
