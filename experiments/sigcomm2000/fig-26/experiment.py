from queues import forty_flows

figure = forty_flows(26, "DropTail", limit=250)
