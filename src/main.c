/* stoke: load tests for LLM endpoints. */
#include "cli/commands.h"

int main(int argc, char *argv[])
{
  return commands_main(argc, argv);
}
