// nccl_lines.hpp — lines of nccl-tests' output without what others wrote before them.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ukemi::traces::nccl {

using Tokens = std::vector<std::string_view>;

// What blanks separate; of a line that is too long for a row no more than shows that.
Tokens split(std::string_view line);

bool all_digits(std::string_view text);

// Whether nccl-tests begins a line so, behind a '#' or, where Markdown has taken that, without one:
// a heading, its units, settings, a rank, a version, a collective's name or a footer.
bool is_known_comment(std::string_view line);

// Drops blanks and prefixes. Tags of mpirun ("[1,0]<stdout>:", -tag-output) and of srun ("0: ", -l)
// always. A time (kubectl logs --timestamps), a host (pdsh: "node-1: "), a pod ("[pod/a/b] ") and a
// mark of quotation (">") only once they stood before a line that nccl-tests prints: other programs
// write numbers behind such words, too.
class LinePrefixes {
public:
    std::string_view without(std::string_view line);

private:
    std::string_view without(std::string_view line, int prefixes_left);

    std::set<std::string, std::less<>> seen_;
};

}  // namespace ukemi::traces::nccl
